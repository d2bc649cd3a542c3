// Package sidecar builds the released sidecars of a CSI driver (the nested module e2e/csi/sidecars), and runs them as
// processes of this machine.
package sidecar

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/sliceshift/sliceshift/e2e/built"
	"github.com/sliceshift/sliceshift/e2e/cluster/process"
	"github.com/sliceshift/sliceshift/internal/program"
)

// Name is the name of a program.
type Name string

// The programs of the module. SnapshotController runs once per cluster, Sanity tests a driver, and the others run once
// per driver.
const (
	Attacher           Name = "csi-attacher"
	Provisioner        Name = "csi-provisioner"
	Resizer            Name = "csi-resizer"
	Sanity             Name = "csi-sanity"
	Snapshotter        Name = "csi-snapshotter"
	SnapshotController Name = "snapshot-controller"
)

// packages are the packages of the programs.
var packages = map[Name]string{
	Attacher:           "github.com/kubernetes-csi/external-attacher/v4/cmd/csi-attacher",
	Provisioner:        "github.com/kubernetes-csi/external-provisioner/v6/cmd/csi-provisioner",
	Resizer:            "github.com/kubernetes-csi/external-resizer/v2/cmd/csi-resizer",
	Sanity:             "github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity",
	Snapshotter:        "github.com/kubernetes-csi/external-snapshotter/v8/cmd/csi-snapshotter",
	SnapshotController: "github.com/kubernetes-csi/external-snapshotter/v8/cmd/snapshot-controller",
}

// Definitions returns the folder of the resource definitions of snapshots, as their project releases them.
func Definitions(ctx context.Context) (string, error) {
	module, err := built.Module("e2e", "csi", "sidecars")
	if err != nil {
		return "", err
	}
	const client = "github.com/kubernetes-csi/external-snapshotter/client/v8"
	in := program.In{Dir: module, Env: []string{"GOWORK=off"}}
	if _, err := in.Output(ctx, "go", "mod", "download", client); err != nil { // the programs may have been built earlier
		return "", err
	}
	dir, err := in.Output(ctx, "go", "list", "-m", "-f", "{{.Dir}}", client)
	return filepath.Join(dir, "config", "crd"), err
}

// All returns the programs that run in a cluster.
func All() []Name { return []Name{Attacher, Provisioner, Resizer, SnapshotController, Snapshotter} }

// Build returns a program. If no build of the same sources exists, it builds the program first. Only a build writes to
// progress, which may be nil.
func Build(ctx context.Context, name Name, progress io.Writer) (string, error) {
	module, err := built.Module("e2e", "csi", "sidecars")
	if err != nil {
		return "", err
	}
	return built.Program{Name: string(name), Module: module, Package: packages[name], Flags: "-s -w", Takes: "a minute or two"}.Path(ctx, progress)
}

// Options identify the driver and the cluster of sidecars.
type Options struct {
	// Kubeconfig reaches the cluster as its administrator.
	Kubeconfig string
	// Socket is the path of the driver's socket.
	Socket string
	// Dir is the folder in which they run and log, one file for each.
	Dir string
}

// Run starts a program. It ends with this process, or when it is killed.
func Run(ctx context.Context, name Name, o Options) (*process.Process, error) {
	binary, err := Build(ctx, name, os.Stderr)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	p, err := process.Start(binary, o.Dir, filepath.Join(o.Dir, string(name)+".log"), o.arguments(name))
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// soon is the retry interval of the sidecars: tests wait for them.
const soon = 100 * time.Millisecond

func (o Options) arguments(name Name) []string {
	flags := []string{"--kubeconfig=" + o.Kubeconfig, "--v=4", "--kube-api-qps=1000", "--kube-api-burst=2000", "--retry-interval-start=" + soon.String()}
	if name == SnapshotController {
		return flags
	}
	flags = append(flags, "--csi-address="+o.Socket, "--timeout=30s")
	if name == Provisioner {
		// A VolumeSnapshot whose claim is deleted before the volume was filled is kept until a sweep, by default every
		// 5 minutes.
		flags = append(flags, "--default-fstype=ext4", "--extra-create-metadata", "--snapshot-orphan-sweep-interval=1s")
	}
	return flags
}
