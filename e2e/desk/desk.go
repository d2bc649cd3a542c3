// Package desk prepares a terminal session: kubectl and kubectl migrate in a folder of the path, and one kubeconfig
// with a context for each cluster.
package desk

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/sliceshift/sliceshift/e2e/built"
)

// Programs puts kubectl and kubectl migrate into a folder. binary is the control plane binary, which contains kubectl.
func Programs(ctx context.Context, dir, binary string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := built.Command(ctx, "migrate", filepath.Join(dir, "kubectl-migrate")); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "kubectl"), []byte("#!/bin/sh\nexec '"+binary+"' kubectl \"$@\"\n"), 0o755)
}

// Context is a context of the kubeconfig to write.
type Context struct {
	Name string
	// Kubeconfig is the file whose current context it copies.
	Kubeconfig string
}

// WriteKubeconfig writes one kubeconfig with all these contexts; the first one is current.
func WriteKubeconfig(path string, contexts ...Context) error {
	all := clientcmdapi.NewConfig()
	for _, each := range contexts {
		single, err := clientcmd.LoadFromFile(each.Kubeconfig)
		if err != nil {
			return err
		}
		current := single.Contexts[single.CurrentContext]
		if current == nil {
			return errors.New(each.Kubeconfig + " has no current context")
		}
		all.Clusters[each.Name], all.AuthInfos[each.Name] = single.Clusters[current.Cluster], single.AuthInfos[current.AuthInfo]
		all.Contexts[each.Name] = &clientcmdapi.Context{Cluster: each.Name, AuthInfo: each.Name}
	}
	if len(contexts) > 0 {
		all.CurrentContext = contexts[0].Name
	}
	return clientcmd.WriteToFile(*all, path)
}

// Env returns an environment with the programs in the path, and with the kubeconfig in use.
func Env(dir, kubeconfig string) []string {
	return append(os.Environ(), "KUBECONFIG="+kubeconfig, "KUBECACHEDIR="+kubeconfig+".cache",
		"PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}
