package cluster

import (
	"path/filepath"
	"testing"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// TestKubeconfigIsWhole: a reader of a file that others replace never finds it half written. Once a half-written file
// was read as an empty kubeconfig.
func TestKubeconfigIsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mover.kubeconfig")
	config := clientcmdapi.NewConfig()
	config.CurrentContext = "west"
	if err := replaceKubeconfig(*config, path); err != nil {
		t.Fatal(err)
	}
	var group errgroup.Group
	for range 4 {
		group.Go(func() error {
			for range 100 {
				if err := replaceKubeconfig(*config, path); err != nil {
					return err
				}
				read, err := clientcmd.LoadFromFile(path)
				if err != nil {
					return err
				}
				if read.CurrentContext != "west" {
					t.Error("a half-written kubeconfig was read")
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
