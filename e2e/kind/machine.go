package kind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/sliceshift/sliceshift/e2e/kind/docker"
)

// Machine holds the requirements of kind on this machine: the lock, docker, the command and an image.
type Machine struct {
	// Kind is the kind command, Image the image of the nodes.
	Kind, Image string
	// Env is the environment in which the command and docker are called.
	Env []string

	host    docker.Host
	daemon  *docker.Daemon
	release func()
}

// Prepare provides the requirements of kind. dir, an absolute path, gets the command and the daemon's log. Only one
// process can have a Machine at a time; Release ends it.
func Prepare(ctx context.Context, dir string, progress io.Writer) (*Machine, error) {
	m := &Machine{}
	if err := m.prepare(ctx, dir, progress); err != nil {
		return nil, errors.Join(err, m.Release())
	}
	return m, nil
}

func (m *Machine) prepare(ctx context.Context, dir string, progress io.Writer) (err error) {
	if err := m.takeTools(ctx, dir, progress); err != nil {
		return err
	}
	m.Image, err = chooseImage(ctx, m.host, progress)
	return err
}

// takeTools provides the tools to manage existing clusters.
func (m *Machine) takeTools(ctx context.Context, dir string, progress io.Writer) (err error) {
	if m.release, err = lock(machineLock()); err != nil {
		return err
	}
	if m.host, err = docker.Inspect(); err != nil {
		return err
	}
	if m.daemon, err = docker.Ensure(ctx, dir, progress); err != nil {
		return err
	}
	if m.Env, err = m.host.Environment(filepath.Join(dir, "bin")); err != nil {
		return err
	}
	m.Kind, err = buildCommand(ctx, dir)
	return err
}

// Release stops docker if Prepare started it.
func (m *Machine) Release() error {
	err := m.daemon.Stop()
	if m.release != nil {
		m.release()
	}
	return err
}

// unsynced lets etcd write without waiting for the disk (kubeadm v1beta4): three etcds on the disk of one machine wait
// for each other. A crash of the machine would lose unsynced writes; the tests do not cover that.
const unsynced = "kind: ClusterConfiguration\netcd: {local: {extraArgs: [{name: unsafe-no-fsync, value: \"true\"}]}}\n"

// Adapt adds the settings that this machine and the image need to the configuration of a cluster.
func (m *Machine) Adapt(config []byte) ([]byte, error) {
	cluster := map[string]any{}
	if err := yaml.Unmarshal(config, &cluster); err != nil {
		return nil, fmt.Errorf("read the configuration for kind: %w", err)
	}
	nodes, _ := cluster["nodes"].([]any)
	for _, node := range nodes {
		node.(map[string]any)["image"] = m.Image
	}
	patches, _ := cluster["kubeadmConfigPatches"].([]any)
	if isBuilt(m.Image) { // it has no network daemon and no DNS
		networking, _ := cluster["networking"].(map[string]any)
		if networking == nil {
			networking = map[string]any{}
		}
		networking["disableDefaultCNI"], networking["kubeProxyMode"] = true, "nftables"
		cluster["networking"] = networking
		patches = append(patches, "kind: InitConfiguration\nskipPhases: [preflight, addon/coredns]\n", unsynced)
	}
	if m.host.CgroupV1 {
		patches = append(patches, "kind: KubeletConfiguration\nfailCgroupV1: false\n")
	}
	if len(patches) > 0 {
		cluster["kubeadmConfigPatches"] = patches
	}
	return yaml.Marshal(cluster)
}
