package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	adminUser  = "admin"
	adminGroup = "system:masters"
)

// Kubeconfig returns the path of the administrator's kubeconfig. Its context
// is named after the cluster, so that the files of several clusters merge.
func (c *Cluster) Kubeconfig() string {
	return c.kubeconfigPath(adminUser)
}

// RESTConfig returns the administrator's client configuration, without any
// limit on the client's side.
func (c *Cluster) RESTConfig() *rest.Config {
	return rest.CopyConfig(c.config)
}

// UserKubeconfig writes a kubeconfig with a client certificate for another user, with only the rights that RBAC grants
// to that user and these groups. Several goroutines may call it for one user: a reader of the file never finds it half
// written.
func (c *Cluster) UserKubeconfig(user string, groups ...string) (string, error) {
	pair, err := c.ca.client(user, groups...)
	if err != nil {
		return "", fmt.Errorf("cluster %s: certificate of user %s: %w", c.Name(), user, err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[c.Name()] = &clientcmdapi.Cluster{
		Server:                   c.server(),
		CertificateAuthorityData: c.ca.certPEM,
	}
	name := c.Name() + "-" + user
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: pair.cert,
		ClientKeyData:         pair.key,
	}
	config.Contexts[c.Name()] = &clientcmdapi.Context{Cluster: c.Name(), AuthInfo: name}
	config.CurrentContext = c.Name()
	path := c.kubeconfigPath(user)
	if err := replaceKubeconfig(*config, path); err != nil {
		return "", fmt.Errorf("cluster %s: kubeconfig of user %s: %w", c.Name(), user, err)
	}
	return path, nil
}

// replaceKubeconfig replaces the file atomically: parallel tests request the same user, and a test may read the file
// while another writes it.
func replaceKubeconfig(config clientcmdapi.Config, path string) error {
	partial, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	if err := errors.Join(partial.Close(), clientcmd.WriteToFile(config, partial.Name())); err != nil {
		return err
	}
	return os.Rename(partial.Name(), path)
}

// kubeconfigPath replaces the characters of a user's name that are unsafe in a path.
func (c *Cluster) kubeconfigPath(user string) string {
	safe := []rune(user)
	for i, r := range safe {
		if r == filepath.Separator || r == ':' {
			safe[i] = '_'
		}
	}
	return filepath.Join(c.dir, string(safe)+".kubeconfig")
}

func (c *Cluster) server() string {
	return fmt.Sprintf("https://127.0.0.1:%d", c.ports[APIServer].number)
}

// writeKubeconfigs writes the kubeconfigs of the administrator and of the roles, and loads the administrator's. The
// roles are members of system:masters. The alternative, one service account for each controller, costs a token request
// for each of them at every start.
func (c *Cluster) writeKubeconfigs() error {
	for _, user := range []string{adminUser, roleUser(ControllerManager), roleUser(Scheduler), roleUser(Kwok)} {
		if _, err := c.UserKubeconfig(user, adminGroup); err != nil {
			return err
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return fmt.Errorf("cluster %s: %w", c.Name(), err)
	}
	config.QPS = -1
	c.config = config
	return nil
}

// roleUser returns the user name of a role's requests to the apiserver.
func roleUser(role Role) string {
	return "system:" + string(role)
}

// Kubectl prepares a run of the kubectl inside the control plane binary. Its caches are next to the kubeconfig and are
// removed with the cluster.
func Kubectl(ctx context.Context, binary, kubeconfig string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, binary, append([]string{"kubectl", "--kubeconfig=" + kubeconfig}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECACHEDIR="+filepath.Join(filepath.Dir(kubeconfig), "kubectl-cache"))
	return cmd
}

// Kubectl prepares a run of kubectl as the administrator of the cluster.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) *exec.Cmd {
	return Kubectl(ctx, c.options.Binary, c.Kubeconfig(), args...)
}
