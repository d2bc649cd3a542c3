package cluster

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
)

// Kubectl prepares a run of the kubectl inside the control plane binary. Its
// caches are beside the kubeconfig and go away with the cluster.
func Kubectl(ctx context.Context, binary, kubeconfig string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, binary, append([]string{"kubectl", "--kubeconfig=" + kubeconfig}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECACHEDIR="+filepath.Join(filepath.Dir(kubeconfig), "kubectl-cache"))
	return cmd
}

// Kubectl prepares a run of kubectl as the administrator of the cluster.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) *exec.Cmd {
	return Kubectl(ctx, c.options.Binary, c.Kubeconfig(), args...)
}
