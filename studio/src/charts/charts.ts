// SPDX-License-Identifier: Apache-2.0
// ECharts, of which only the parts named here are in the page. It is a file of its own (charts.js), read when the
// first chart is shown, since it is most of the page. In a report it is a script before the page.
import { BarChart, LineChart, ScatterChart } from "echarts/charts";
import { DataZoomComponent, GridComponent, LegendComponent, MarkLineComponent, TooltipComponent } from "echarts/components";
import { init, use } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";

use([BarChart, LineChart, ScatterChart, GridComponent, LegendComponent, MarkLineComponent, TooltipComponent, DataZoomComponent, CanvasRenderer]);

declare global {
  var makeChart: typeof init | undefined;
}
globalThis.makeChart = init;
