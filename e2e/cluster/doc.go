// Package cluster runs real Kubernetes control planes on this machine, for the tests, the demo and the benchmarks. A
// cluster is five processes of one binary (the nested module e2e/controlplane): etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler and kwok, which simulates the kubelets.
//
// Each process is one Role, so that a test can kill, freeze and restart it alone. Every cluster guarantees:
//
//	C1  a role keeps its flags, its ports and its identity over restarts
//	C2  no two clusters share a port, not even while a role is down
//	C3  everything is bound to the loopback address or to a unix socket
//	C4  no process outlives the process that started it, however that process ends
//	C5  a role that exits unexpectedly is restarted and counted (Deaths), until restarts
//	    no longer help (Broken); a role that a test stopped or froze is not restarted
//
// Only the kubelet is simulated. Stages (folder stages) define its behaviour: a scheduled pod becomes Ready at once, a
// deleted pod disappears at once. Two annotations of a pod change that, see ReadyDelayAnnotationKey and
// DeleteDelayAnnotationKey. A pod that a test sets to Ready=False through the status subresource stays so. kwok
// ignores the pods of movers: package player simulates their kubelet.
//
// Example:
//
//	binary, err := cluster.Build(ctx, os.Stderr)
//	clusters, err := cluster.StartAll(ctx, cluster.Options{Binary: binary}, "a", "b")
//	for _, c := range clusters {
//		c.StopAfter(t)
//	}
//	client, err := kubernetes.NewForConfig(clusters[0].RESTConfig())
package cluster
