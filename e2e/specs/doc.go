// Package specs runs Kubernetes' own specs of StatefulSets (k8s.io/kubernetes/test/e2e/apps) against our kind, on kind
// clusters with real kubelets. The specs are unchanged: proxy serves our kind to them as apps/v1.
//
//	suite    a module with the program that runs the specs, kubectl, and agnhost, the program of their pods
//	proxy    serves our kind as apps/v1
//	report   the results
//
// Each spec runs in a process of its own, several at a time. The specs of clustered applications are left out: these come as
// images of ZooKeeper, MySQL and CockroachDB.
package specs
