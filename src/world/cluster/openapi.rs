//! The server's OpenAPI v3 documents: where they stand, each with the hash of its content, and their text.

use std::collections::BTreeMap;

use super::{Cluster, read};
use crate::domain::fault::{Fault, FaultKind};

/// Largest document that is read.
const LARGEST: usize = 64 << 20;

impl Cluster {
    /// Returns where the documents stand, by group version (`v1`, `apps/v1`): addresses that hold a hash of the content,
    /// so that one address always means one document.
    ///
    /// # Errors
    /// The server has none (older than 1.24), or does not let us read it.
    pub async fn openapi(&self) -> Result<BTreeMap<String, String>, Fault> {
        let answer = self
            .answer("read /openapi/v3", read::get(&self.client, "/openapi/v3"))
            .await?;
        let paths = answer.get("paths").and_then(serde_json::Value::as_object);
        Ok(paths
            .into_iter()
            .flatten()
            .filter_map(|(path, entry)| {
                let version = path
                    .strip_prefix("apis/")
                    .or_else(|| path.strip_prefix("api/"))?;
                let address = entry.get("serverRelativeURL")?.as_str()?;
                address
                    .starts_with("/openapi/v3/")
                    .then(|| (version.to_owned(), address.to_owned()))
            })
            .collect())
    }

    /// Reads one document's text.
    ///
    /// # Errors
    /// It cannot be read, or it is larger than 64 MB.
    pub async fn openapi_document(&self, address: &str) -> Result<String, Fault> {
        let doing = format!("read {address}");
        let text = self
            .answer(&doing, read::get_text(&self.client, address))
            .await?;
        if text.len() > LARGEST {
            return Err(Fault::new(
                FaultKind::Unsupported,
                format!("could not {doing}: it is larger than 64 MB"),
            )
            .about(&*self.context));
        }
        Ok(text)
    }
}
