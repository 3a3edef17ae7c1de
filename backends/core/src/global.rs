//! One opened device for each backend type.

use crate::error::Error;
use crate::sync::{Mutex, MutexGuard, PoisonError};
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// The devices that all threads of the process share.
pub(crate) static DEVICES: LazyLock<Devices> = LazyLock::new(Devices::default);

/// Devices, each in the slot of its type: `TypeId` of `D` → `Slot<D>`. This lock is free while a device opens, because
/// a backend may open another one (`Fallback` does).
#[derive(Default)]
pub(crate) struct Devices(Mutex<HashMap<TypeId, Box<dyn Any + Send>>>);

/// The device of one backend type. The lock is held while the device opens, so that it opens once.
type Slot<D> = Arc<Mutex<Option<D>>>;

impl Devices {
    /// Returns a handle to the shared device of a type; opens it if there is none or if it is lost.
    pub(crate) fn get<D: Clone + Send + 'static>(
        &self,
        open: impl FnOnce() -> Result<D, Error>,
        is_lost: impl FnOnce(&D) -> bool,
    ) -> Result<D, Error> {
        let slot = self.slot::<D>();
        let mut device = lock(&slot);
        match &*device {
            Some(opened) if !is_lost(opened) => Ok(opened.clone()),
            _ => {
                *device = None;
                let opened = open()?;
                *device = Some(opened.clone());
                Ok(opened)
            }
        }
    }

    fn slot<D: Send + 'static>(&self) -> Slot<D> {
        let mut slots = lock(&self.0);
        let slot = slots.entry(TypeId::of::<D>()).or_insert_with(|| Box::new(Slot::<D>::default()));
        slot.downcast_ref::<Slot<D>>().expect("the slot of a type holds that type").clone()
    }
}

/// Locks a mutex. A panic while it was held leaves `None` or a whole device, and both can be used.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
