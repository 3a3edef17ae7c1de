//! Nothing but tests, in `tests/`, for wasm32.
