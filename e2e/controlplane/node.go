//go:build node

package main

import (
	"context"

	"github.com/spf13/cobra"
	kubeproxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app"
	kubeadmerrors "k8s.io/kubernetes/cmd/kubeadm/app/util/errors"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func init() {
	roles["kubeadm"] = func() { kubeadmerrors.HandleError(kubeadm.Run()) }
	roles["kube-proxy"] = run(kubeproxy.NewProxyCommand)
	roles["kubelet"] = run(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) })
}
