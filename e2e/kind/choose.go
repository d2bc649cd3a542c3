package kind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/sliceshift/sliceshift/e2e/built"
	"github.com/sliceshift/sliceshift/e2e/kind/docker"
	"github.com/sliceshift/sliceshift/e2e/kind/nodeimage"
	"github.com/sliceshift/sliceshift/internal/program"
)

// imageVariable names the node image, or has the value builtHere for the image that is built here.
const (
	imageVariable = "E2E_KIND_IMAGE"
	builtHere     = "built"
)

func isBuilt(image string) bool { return strings.HasPrefix(image, "sliceshift/node:") }

// chooseImage returns the image that the user requested, else kind's own node image if it is available, else the image
// that is built from Go modules and Debian packages. A machine without CAP_SYS_RESOURCE cannot run kind's own.
func chooseImage(ctx context.Context, host docker.Host, progress io.Writer) (string, error) {
	wanted := os.Getenv(imageVariable)
	if wanted != "" && wanted != builtHere {
		return wanted, nil
	}
	kindDir, err := ModuleDir(ctx)
	if err != nil {
		return "", err
	}
	if wanted != builtHere && !host.Unprivileged {
		stock, err := stockImage(kindDir)
		if err != nil {
			return "", err
		}
		if available(ctx, stock) {
			return stock, nil
		}
		fmt.Fprintf(progress, "%s cannot be had, so a node image is built here\n", stock)
	}
	return nodeimage.Build(ctx, kindDir, progress)
}

var defaultImage = regexp.MustCompile(`(?m)^const Image = "([^"]+)"$`)

// stockImage returns the default image of this version of kind.
func stockImage(kindDir string) (string, error) {
	file := filepath.Join(kindDir, "pkg", "apis", "config", "defaults", "image.go")
	content, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("look up kind's node image: %w", err)
	}
	found := defaultImage.FindSubmatch(content)
	if found == nil {
		return "", errors.New("look up kind's node image: " + file + " does not say")
	}
	return string(found[1]), nil
}

// available reports whether an image exists locally or can be pulled.
func available(ctx context.Context, image string) bool {
	if docker.Run(ctx, "image", "inspect", image) == nil {
		return true
	}
	const patience = 10 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return docker.Run(ctx, "pull", "--quiet", image) == nil
}

const kindModule = "sigs.k8s.io/kind"

// EmptyDir creates an empty folder of that name below out/ for the files of clusters, and replaces the folder of an
// earlier run. The path is absolute.
func EmptyDir(name string) (string, error) {
	dir, err := built.Module("out", name)
	if err != nil {
		return "", err
	}
	return dir, errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755))
}

// ModuleDir returns the folder of kind's module, at the version that tools/go.mod requires.
func ModuleDir(ctx context.Context) (string, error) {
	if _, err := inTools(ctx, "mod", "download", kindModule); err != nil {
		return "", err
	}
	return inTools(ctx, "list", "-m", "-f", "{{.Dir}}", kindModule)
}

// buildCommand builds the kind command into dir.
func buildCommand(ctx context.Context, dir string) (string, error) {
	command := filepath.Join(dir, "kind")
	_, err := inTools(ctx, "build", "-o", command, kindModule)
	return command, err
}

// inTools runs go in the module that pins kind.
func inTools(ctx context.Context, args ...string) (string, error) {
	tools, err := built.Module("e2e", "kind", "tools")
	if err != nil {
		return "", err
	}
	return program.In{Dir: tools, Env: []string{"CGO_ENABLED=0", "GOWORK=off"}}.Output(ctx, "go", args...)
}

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
