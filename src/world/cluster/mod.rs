//! Clusters: contexts, clients, watches, reads and acts over kube.
