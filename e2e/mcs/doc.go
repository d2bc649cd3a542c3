// Package mcs simulates an implementation of Multi-Cluster Services (KEP-1645). Tests on real clusters need an
// implementation, and the product has none. Each cluster has a separate controller, which sees the exports of all
// clusters:
//
//	ServiceExport, Service, EndpointSlices (any cluster)
//	        │ derive: pure
//	        ▼
//	ServiceImport, EndpointSlices with the cluster they are from (every cluster)
//
// A cluster whose API server does not answer does not block the others: they keep its last exports.
package mcs
