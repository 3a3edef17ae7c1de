//! Adds the rule to sessions.

use crate::rule::PolysortRule;
use datafusion::execution::SessionStateBuilder;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::prelude::SessionContext;
use polysort_core::Backend;
use std::sync::Arc;

/// The rule of DataFusion that checks a plan. Ours comes before, so that its plans are checked, too.
const CHECK: &str = "SanityCheckPlan";

/// Makes the queries of `context` that are planned from now on sort on `backend`. A second call replaces the backend.
///
/// ```
/// use datafusion::prelude::SessionContext;
/// use polysort_rayon::RayonBackend;
///
/// let context = SessionContext::new();
/// polysort_datafusion::install(&context, RayonBackend::default());
/// ```
pub fn install(context: &SessionContext, backend: impl Backend) {
    let state = context.state_ref();
    let mut state = state.write();
    *state = with_polysort(SessionStateBuilder::new_from_existing(state.clone()), backend).build();
}

/// Sets up a session that is being built, so that its queries sort on `backend`. A second call on the same builder replaces the backend.
///
/// ```
/// use datafusion::execution::SessionStateBuilder;
/// use datafusion::prelude::SessionContext;
/// use polysort_rayon::RayonBackend;
///
/// let builder = SessionStateBuilder::new().with_default_features();
/// let context = SessionContext::new_with_state(polysort_datafusion::with_polysort(builder, RayonBackend::default()).build());
/// ```
pub fn with_polysort(builder: SessionStateBuilder, backend: impl Backend) -> SessionStateBuilder {
    with_rule(builder, PolysortRule::new(backend))
}

/// [`with_polysort`] with a rule that has settings of its own.
pub fn with_rule(mut builder: SessionStateBuilder, rule: PolysortRule) -> SessionStateBuilder {
    let mut rules = builder.physical_optimizers().take().unwrap_or_default().rules;
    rules.retain(|other| other.name() != rule.name());
    let at = rules.iter().position(|rule| rule.name() == CHECK).unwrap_or(rules.len());
    rules.insert(at, Arc::new(rule));
    *builder.physical_optimizers() = Some(PhysicalOptimizer::with_rules(rules));
    builder
}
