// SPDX-License-Identifier: Apache-2.0
//! The kernels that take the most time: `cargo run --example kernels -- trace.sbt`
use std::collections::HashMap;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: kernels TRACE")?;
    let trace = tracesmith::Trace::open(path)?;
    trace.load("kernel", &["name", "duration_ns"])?;
    let names = trace.column("kernel", "name")?;
    let durations = trace.column("kernel", "duration_ns")?;
    let names = names.texts().ok_or("names are texts")?;

    let mut totals: HashMap<&str, (i64, usize)> = HashMap::new();
    for (name, ns) in names.iter().zip(durations.i64s().ok_or("durations are whole numbers")?) {
        let total = totals.entry(name.unwrap_or("(no name)")).or_default();
        total.0 += ns;
        total.1 += 1;
    }
    let mut totals: Vec<_> = totals.into_iter().collect();
    totals.sort_by_key(|(_, (ns, _))| std::cmp::Reverse(*ns));
    for (name, (ns, launches)) in totals.into_iter().take(10) {
        println!("{:>10.3} ms  {launches:>6} launches  {name}", ns as f64 / 1e6);
    }
    Ok(())
}
