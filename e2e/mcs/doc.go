// Package mcs plays what implements Multi-Cluster Services (KEP-1645) in a fleet: tests on
// real clusters need one, and it is no part of the product. Every cluster is kept by a
// controller of its own, which sees the exports of all clusters:
//
//	ServiceExport, Service, EndpointSlices (any cluster)
//	        │ derive: pure
//	        ▼
//	ServiceImport, EndpointSlices with the cluster they are from (every cluster)
//
// A cluster whose API server does not answer keeps the others from nothing: they go on with
// what it exported last.
package mcs
