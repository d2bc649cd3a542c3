// Package cluster runs real Kubernetes control planes on this machine, for the
// tests, the demo and the benchmarks. A cluster is five processes of one binary
// (the nested module e2e/controlplane): etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler and kwok, which plays the kubelets.
//
// Each process is one Role, so that a test can kill, freeze and restart it
// alone. What holds for every cluster:
//
//	C1  a role keeps its flags, its ports and its identity over restarts
//	C2  no two clusters share a port, not even while a role is down
//	C3  everything is bound to the loopback address or to a unix socket
//	C4  nothing outlives the process that started it, however that one ends
//	C5  a role that ends by itself is started again and counted (Deaths), until
//	    that is of no use (Broken); what a test does to a role is left alone
//
// The kubelet is the one thing that is not real. Stages (folder stages) say
// what it does: a scheduled pod becomes Ready at once, a deleted one goes away
// at once. Two annotations of a pod change that, see ReadyDelayAnnotationKey
// and DeleteDelayAnnotationKey. A pod that a test sets to Ready=False through
// the status subresource stays so. Pods of movers it leaves alone: their kubelet
// is package player.
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
