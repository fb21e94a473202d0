// SPDX-License-Identifier: Apache-2.0
// A chart by ECharts. Its tooltips are drawn, not HTML: names of a trace are never interpreted, and the page's
// policy forbids inline style.
import type { EChartsCoreOption } from "echarts/core";
import { useEffect, useRef, useState } from "react";
import type {} from "./charts.ts";

export interface ChartProps {
  /** What the chart shows, for who cannot see it. */
  label: string;
  option: EChartsCoreOption;
  height?: number;
  /** A click on a point: its series and its place in the series. */
  clicked?: (series: number, index: number) => void;
}

export function Chart({ label, option, height = 260, clicked }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const [theme, setTheme] = useState(document.documentElement.dataset["theme"]);
  const [makeChart, setMakeChart] = useState(() => globalThis.makeChart);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    if (makeChart) return;
    import("./charts.js").then(
      () => setMakeChart(() => globalThis.makeChart),
      () => setFailed(true),
    );
  }, [makeChart]);
  useEffect(() => {
    const observer = new MutationObserver(() => setTheme(document.documentElement.dataset["theme"]));
    observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (!place.current || !makeChart) return;
    const style = getComputedStyle(place.current);
    const paint = (name: string) => style.getPropertyValue(name).trim();
    const axis = {
      axisLine: { lineStyle: { color: paint("--soft") } },
      axisLabel: { color: paint("--soft") },
      nameTextStyle: { color: paint("--soft") },
      splitLine: { lineStyle: { color: paint("--line") } },
    };
    const chart = makeChart(place.current, {
      color: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7b61c4", "#8c564b"],
      textStyle: { color: paint("--soft"), fontFamily: style.fontFamily },
      legend: { textStyle: { color: paint("--soft") } },
      valueAxis: axis,
      logAxis: axis,
      line: { lineStyle: { width: 1.5 } },
    });
    chart.setOption({
      animation: false,
      tooltip: { renderMode: "richText", trigger: "axis", confine: true, backgroundColor: paint("--back"), textStyle: { color: paint("--text") } },
      grid: { left: 80, right: 20, top: 34, bottom: 40 },
      ...option,
    });
    if (clicked) chart.on("click", (event) => clicked(event.seriesIndex ?? 0, event.dataIndex));
    const resized = new ResizeObserver(() => chart.resize());
    resized.observe(place.current);
    return () => {
      resized.disconnect();
      chart.dispose();
    };
  }, [option, clicked, theme, makeChart]);
  if (failed) return <p role="alert">The part of the page that draws charts cannot be loaded; is the server still there?</p>;
  return <div ref={place} className="chart" role="img" aria-label={label} style={{ height }} />;
}
