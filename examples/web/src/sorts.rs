//! The objects that `page.js` uses: keys in the memory of the module, and one object for each backend that sorts them.

use polysort::gpu::Config;
use polysort::{Backend, Options, RayonBackend, Sort, SortAsync, WgpuBackend};
use wasm_bindgen::prelude::*;

/// Lists of equal length, one after another in the memory of the module. A sort sorts each list by itself.
///
/// Clocks of browsers are coarse. For short lists, the page measures the sort of many lists.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Keys {
    keys: Vec<u32>,
    len: usize,
}

#[wasm_bindgen]
impl Keys {
    /// Allocates `lists` lists of `len` keys. `len` must not be 0.
    #[wasm_bindgen(constructor)]
    pub fn new(len: usize, lists: usize) -> Keys {
        Keys { keys: vec![0; len * lists], len }
    }

    /// Returns the address of the first key in the memory of the module.
    pub fn address(&self) -> *const u32 {
        self.keys.as_ptr()
    }
}

/// The CPU backend. In a browser it has one thread.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Cpu(RayonBackend);

#[wasm_bindgen]
impl Cpu {
    /// Opens the backend.
    pub fn open() -> Result<Cpu, JsError> {
        Ok(Cpu(RayonBackend::global()?))
    }

    /// Returns the name of the backend.
    pub fn name(&self) -> String {
        self.0.name()
    }

    /// Sorts each list.
    pub fn sort(&self, keys: &mut Keys) -> Result<(), JsError> {
        for list in keys.keys.chunks_exact_mut(keys.len) {
            self.0.sort(list)?;
        }
        Ok(())
    }
}

/// The GPU backend, on WebGPU.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Gpu(WgpuBackend);

#[wasm_bindgen]
impl Gpu {
    /// Opens the GPU. `software` allows an adapter that runs on the CPU.
    pub async fn open(software: bool) -> Result<Gpu, JsError> {
        let mut config = Config::default();
        config.software = software;
        Ok(Gpu(WgpuBackend::open_async(config).await?))
    }

    /// Returns the name of the backend.
    pub fn name(&self) -> String {
        self.0.name()
    }

    /// Sorts each list. The time of a sort includes the copies to the GPU and back.
    pub async fn sort(&self, keys: &mut Keys) -> Result<(), JsError> {
        for list in keys.keys.chunks_exact_mut(keys.len) {
            self.0.sort_async(list, Options::ascending()).await?;
        }
        Ok(())
    }
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console, js_name = error)]
    fn report(text: &str);
}

/// Writes the text of each panic to the browser's console. Without this hook, a panic has no text.
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|panic| report(&panic.to_string())));
}
