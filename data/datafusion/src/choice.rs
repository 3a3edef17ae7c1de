//! Which sorts the operator takes.

use datafusion::arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::ExecutionPlanProperties;
use datafusion::physical_plan::sorts::sort::SortExec;
use std::fmt;

/// Why a sort is left to DataFusion.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Left {
    /// Only the first rows are asked for. DataFusion keeps no others, and skips files that cannot have them.
    Limit {
        /// The number of rows.
        rows: usize,
    },
    /// The input is in order already, so that DataFusion does not sort.
    InOrder,
    /// The input has no end.
    Unbounded,
    /// polysort has no radix sort of a key's type.
    Type {
        /// The key.
        key: String,
        /// Its type.
        data_type: DataType,
    },
    /// A key such as `random()` can have another value each time that it is evaluated, and the operator evaluates keys again when it spills.
    Volatile {
        /// The key.
        key: String,
    },
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit { rows } => write!(f, "only {rows} rows are asked for"),
            Self::InOrder => write!(f, "the input is in order"),
            Self::Unbounded => write!(f, "the input has no end"),
            Self::Type { key, data_type } => write!(f, "the key {key} is of type {data_type}"),
            Self::Volatile { key } => write!(f, "the key {key} can have another value each time"),
        }
    }
}

/// Why `sort` is left to DataFusion, or `None` if it is not.
pub(crate) fn why_left(sort: &SortExec) -> Result<Option<Left>> {
    if let Some(rows) = sort.fetch() {
        return Ok(Some(Left::Limit { rows }));
    }
    if sort.input().boundedness().is_unbounded() {
        return Ok(Some(Left::Unbounded));
    }
    if sort.input().equivalence_properties().ordering_satisfy(sort.expr().iter().cloned())? {
        return Ok(Some(Left::InOrder));
    }
    let schema = sort.input().schema();
    for key in sort.expr() {
        if is_volatile(&key.expr) {
            return Ok(Some(Left::Volatile { key: key.expr.to_string() }));
        }
        let data_type = key.expr.data_type(&schema)?;
        if !polysort_arrow::is_sorted_by_bits(&data_type) {
            return Ok(Some(Left::Type { key: key.expr.to_string(), data_type }));
        }
    }
    Ok(None)
}
