//! Panels: lines over the number of keys, and rows of points, one row for each pattern.
//!
//! Both axes of lines are logarithmic, so that a ratio is the same distance everywhere.

use crate::error::ReportError;
use crate::html::escape;
use crate::style::Style;
use core::ops::Range;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

pub use crate::style::CPU;

/// A part of a picture.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A system's values by the number of keys.
#[derive(Clone, Debug)]
pub struct Line {
    /// How the line is drawn.
    pub style: Style,
    /// The numbers of keys, ascending, each with its value.
    pub points: Vec<(usize, f64)>,
}

/// The axes of a panel of lines, and the sizes of its parts.
#[derive(Clone, Debug)]
pub struct Axes<'a> {
    /// The logarithms of the numbers of keys at the left and the right end.
    pub bits: Range<f64>,
    /// The values at the lower and the upper end.
    pub values: Range<f64>,
    /// The unit of the values.
    pub unit: &'a str,
    /// The name of the horizontal axis, if it has one.
    pub below: Option<&'a str>,
    /// The size of the letters at the axes. Letters have four fifths of it in pixels.
    pub letters: u32,
}

/// Pixels of a panel in a report.
pub(crate) const PANEL: (u32, u32) = (400, 280);

/// The size of letters in a report.
pub(crate) const LETTERS: u32 = 16;

/// The color of the lines behind the data.
const GRID: RGBColor = RGBColor(225, 225, 225);

/// Draws lines.
///
/// # Errors
/// If the charting library fails.
pub fn lines(area: &Area<'_>, caption: Option<&str>, axes: &Axes<'_>, lines: &[Line]) -> Result<(), ReportError> {
    let mut chart = ChartBuilder::on(area);
    if let Some(caption) = caption {
        chart.caption(caption, ("sans-serif", 14));
    }
    let below = if axes.below.is_some() { 50 } else { 34 };
    let bits = Axis::new(&axes.bits, |bits| bits, powers(&axes.bits));
    let values = Axis::new(&axes.values, f64::ln, ticks(&axes.values));
    let mut chart = chart
        .margin(6)
        .margin_right(18)
        .x_label_area_size(below)
        .y_label_area_size(if axes.letters > 12 { 62 } else { 48 })
        .build_cartesian_2d(bits, values)
        .map_err(cannot_draw)?;
    let mut mesh = chart.configure_mesh();
    let number = |value: &f64| number(*value);
    mesh.x_label_formatter(&|bits| format!("2^{bits:.0}"))
        .y_label_formatter(&number)
        .y_desc(axes.unit)
        .label_style(("sans-serif", axes.letters))
        .bold_line_style(GRID);
    if let Some(below) = axes.below {
        mesh.x_desc(below);
    }
    mesh.draw().map_err(cannot_draw)?;
    for Line { style, points } in lines {
        let points = points.iter().map(|&(n, value)| ((n as f64).log2(), value));
        let stroke = style.color.stroke_width(style.width);
        match style.dash {
            None => chart.draw_series(LineSeries::new(points.clone(), stroke)).map(|_| ()),
            Some(dash) => chart.draw_series(DashedLineSeries::new(points.clone(), dash, 3, stroke)).map(|_| ()),
        }
        .map_err(cannot_draw)?;
        let circle = |point| Circle::new(point, style.width + 1, style.color.filled());
        chart.draw_series(points.map(circle)).map_err(cannot_draw)?;
    }
    Ok(())
}

/// A system's values by the row.
#[derive(Clone, Debug)]
pub(crate) struct Points {
    pub(crate) style: Style,
    /// The numbers of rows from above, each with its value.
    pub(crate) points: Vec<(usize, f64)>,
}

/// Draws rows of points over a logarithmic axis: the name of each row at its left, and a system's point at its value.
pub(crate) fn rows(
    area: &Area<'_>,
    names: &[String],
    values: &Range<f64>,
    unit: &str,
    series: &[Points],
) -> Result<(), ReportError> {
    let last = names.len() as f64 - 1.0;
    // The first row is at the top.
    let at = |row: usize| last - row as f64;
    let rows = Axis::new(&(-0.6..last + 0.6), |row| row, (0..names.len()).map(at).collect());
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0) as u32;
    let mut chart = ChartBuilder::on(area)
        .margin(6)
        .margin_right(26)
        .x_label_area_size(50)
        .y_label_area_size(16 + longest * 7)
        .build_cartesian_2d(Axis::new(values, f64::ln, ticks(values)), rows)
        .map_err(cannot_draw)?;
    let name = |row: &f64| names.get((last - row).round() as usize).cloned().unwrap_or_default();
    let number = |value: &f64| number(*value);
    chart
        .configure_mesh()
        .x_label_formatter(&number)
        .y_label_formatter(&name)
        .x_desc(unit)
        .label_style(("sans-serif", LETTERS))
        .bold_line_style(GRID)
        .draw()
        .map_err(cannot_draw)?;
    for Points { style, points } in series {
        let points = points.iter().map(|&(row, value)| (value, at(row)));
        match style.dash {
            None => chart.draw_series(points.map(|point| Circle::new(point, style.width + 2, style.color.filled()))).map(|_| ()),
            Some(_) => chart.draw_series(points.map(|point| Circle::new(point, 4, style.color.stroke_width(2)))).map(|_| ()),
        }
        .map_err(cannot_draw)?;
    }
    Ok(())
}

/// An axis with a scale, and with the values that have a number and a line behind the data.
struct Axis {
    range: Range<f64>,
    scale: fn(f64) -> f64,
    scaled: RangedCoordf64,
    marks: Vec<f64>,
}

impl Axis {
    fn new(range: &Range<f64>, scale: fn(f64) -> f64, marks: Vec<f64>) -> Self {
        Self { range: range.clone(), scale, scaled: (scale(range.start)..scale(range.end)).into(), marks }
    }
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.scaled.map(&(self.scale)(*value), limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // Light lines are those between the marks, and there are none.
        if hint.weight().allow_light_points() { vec![] } else { self.marks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

/// Returns a picture as an element of a page, which is as wide as the element around it. `label` describes the picture to readers who cannot see it.
pub(crate) fn svg(
    (width, height): (u32, u32),
    label: &str,
    draw: impl FnOnce(&Area<'_>) -> Result<(), ReportError>,
) -> Result<String, ReportError> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (width, height)).into_drawing_area();
        draw(&root)?;
        root.present().map_err(cannot_draw)?;
    }
    // Inside a page, the element needs no namespace and no size.
    let (_, content) = svg.split_once('>').expect("a picture has an element");
    Ok(format!("<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">{}", escape(label), content.trim_end()))
}

/// Wraps an error of the charting library.
fn cannot_draw<E: std::error::Error + Send + Sync + 'static>(error: DrawingAreaErrorKind<E>) -> ReportError {
    ReportError::Draw(error.into())
}

/// Returns the powers of two at an axis: at most eight, at equal distances.
fn powers(bits: &Range<f64>) -> Vec<f64> {
    let (least, most) = (bits.start.ceil() as usize, bits.end.floor() as usize);
    let step = [1, 2, 4, 8].into_iter().find(|step| (most - least) / step < 8).unwrap_or(16);
    (least..=most).step_by(step).map(|bits| bits as f64).collect()
}

/// Returns the values at an axis: the powers of ten, and between them 2 and 5 if there are few.
fn ticks(values: &Range<f64>) -> Vec<f64> {
    let within = |factors: &[f64]| -> Vec<f64> {
        round_numbers(values, factors).filter(|value| *value >= values.start * 0.999 && *value <= values.end * 1.001).collect()
    };
    let tens = within(&[1.0]);
    if tens.len() > 2 { tens } else { within(&[1.0, 2.0, 5.0]) }
}

/// Returns a range of an axis around `values`, which are positive. It begins and ends with 1, 2 or 5 times a power of ten.
pub(crate) fn around(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (least, most) = values.fold((f64::MAX, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)));
    if least > most {
        return 1.0..10.0;
    }
    // Some room, so that no point is on the border.
    let (least, most) = (least / 1.08, most * 1.08);
    let range = least..most;
    let round = || round_numbers(&range, &[1.0, 2.0, 5.0]);
    let start = round().filter(|value| *value <= least).fold(least / 10.0, f64::max);
    let end = round().filter(|value| *value >= most).fold(most * 10.0, f64::min);
    start..end
}

/// Returns `factors` times each power of ten, from one below the range to one above.
fn round_numbers(range: &Range<f64>, factors: &[f64]) -> impl Iterator<Item = f64> {
    let tens = range.start.log10().floor() as i32..=range.end.log10().ceil() as i32;
    tens.flat_map(move |ten| factors.iter().map(move |factor| factor * 10_f64.powi(ten)))
}

/// Returns a number of an axis: as many places as it needs.
fn number(value: f64) -> String {
    let places = (-value.log10().floor()).max(0.0) as usize;
    format!("{value:.places$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_two_numbers_at_least() {
        for (least, most) in [(5.0, 5000.0), (3.0, 9.0), (0.02, 0.07), (90.0, 250.0), (131.0, 131.0), (1.0, 6e4), (0.01, 0.01)] {
            let range = around([least, most].into_iter());
            let ticks = ticks(&range);
            assert!((2..=8).contains(&ticks.len()), "{least} to {most}: {ticks:?}");
            assert!(range.start < least && range.start > least / 6.0 && range.end > most && range.end < most * 6.0, "{range:?}");
        }
        assert_eq!(ticks(&(5.0..5000.0)), [10.0, 100.0, 1000.0]);
        assert_eq!(powers(&(8.0..22.0)), [8.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0, 22.0]);
        assert_eq!(powers(&(9.5..12.2)), [10.0, 11.0, 12.0]);
        assert_eq!([0.05, 0.5, 1.0, 20.0].map(number), ["0.05", "0.5", "1", "20"]);
    }

    #[test]
    fn names_are_escaped_in_a_picture() {
        let names = ["<script>&\"".to_string()];
        let points = [Points { style: Style::of_all(&["polysort".into()])[0], points: vec![(0, 20.0)] }];
        let svg = svg((400, 100), "\"><script>", |area| rows(area, &names, &(1.0..100.0), "<b>", &points)).expect("a picture");
        assert!(!svg.contains("<script") && !svg.contains("<b>") && svg.contains("&lt;script&gt;&amp;"), "{svg}");
        assert!(svg.contains("<circle ") && !svg.contains("://"), "{svg}");
    }
}
