//! The demo: an embedded cluster behind the shipping kube client, and a repository in a temporary folder.
