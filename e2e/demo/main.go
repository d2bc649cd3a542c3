// Command demo shows the main use case. It starts two real clusters on this machine, each with its own disks, and
// deploys a StatefulSet of 5 whose replicas write and answer clients. It prints the plan and moves all five with the
// real command, while a probe measures the effect on clients. Then it asks an independent auditor for its verdict. By
// method copy, the default, every byte goes over the network; by method rebind both clusters reach the same disks. It
// exits 0 only if the auditor agrees, and leaves nothing running. With -hold the clusters stay before or after the move
// until it is interrupted, for commands from another terminal; before the move there is no verdict.
//
// By method storage there is one cluster, with a CSI driver. The set gets volumes of another class and half the size in
// place, is rolled back in the middle, and gets them again.
//
//	go -C e2e run ./demo [-method copy|rebind|storage] [-hold before|after]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/sliceshift/sliceshift/e2e/built"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/desk"
	"github.com/sliceshift/sliceshift/e2e/player"
	"github.com/sliceshift/sliceshift/internal/program"
)

// When the clusters stay.
const (
	before = "before"
	after  = "after"
)

// The available methods.
const (
	byCopy   = "copy"
	byRebind = "rebind"
	inPlace  = "storage"
)

func main() {
	method := flag.String("method", byCopy, "how the data moves: copy, or rebind where both clusters reach the same disks; or storage: in place, to another class and size")
	hold := flag.String("hold", "", "keep the clusters before or after the move, until this is interrupted")
	flag.Parse()
	program.Run("demo", func(ctx context.Context) error {
		if *method != byCopy && *method != byRebind && *method != inPlace {
			return fmt.Errorf("the method is copy, rebind or storage, not %q", *method)
		}
		if *hold != "" && *hold != before && *hold != after {
			return fmt.Errorf("the clusters stay before or after the move, not %q", *hold)
		}
		if *method == inPlace {
			return change(ctx, *hold)
		}
		return demo(ctx, *method, *hold)
	})
}

// buildWorkload builds the application into a folder.
func buildWorkload(ctx context.Context, folder string) error {
	module, err := built.Module("e2e")
	if err != nil {
		return err
	}
	_, err = program.In{Dir: module}.Output(ctx, "go", "build", "-o", folder+"/", "./kind/workload")
	return err
}

// build builds all programs into a folder, and returns the path of the control plane.
func build(ctx context.Context, programs string) (binary string, err error) {
	headline("Building the programs and the control plane")
	if err := built.Command(ctx, "mover", filepath.Join(programs, "mover")); err != nil {
		return "", err
	}
	if err := buildWorkload(ctx, programs); err != nil {
		return "", err
	}
	if binary, err = cluster.Build(ctx, os.Stdout); err != nil {
		return "", err
	}
	return binary, desk.Programs(ctx, programs, binary)
}

// side is one of the two clusters, with the simulation of its kubelets and its disks.
type side struct {
	*cluster.Cluster
	client  kubernetes.Interface
	kubelet *player.Player
	// disks is the folder of the cluster's disks, pods that of the pods that its kubelet runs.
	disks, pods string
}

func demo(ctx context.Context, method, hold string) (err error) {
	dir, err := os.MkdirTemp("", "sliceshift-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	programs := filepath.Join(dir, "bin")
	binary, err := build(ctx, programs)
	if err != nil {
		return err
	}
	disks := "each has disks of its own"
	if method == byRebind {
		disks = "both reach the same disks"
	}
	headline("Starting two clusters, east and west: " + disks)
	begin := time.Now()
	both, err := cluster.StartAll(ctx, cluster.Options{Binary: binary}, "east", "west")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.StopAll(both)) }()
	var sides [2]*side
	for i, c := range both {
		if sides[i], err = newSide(ctx, c, dir); err != nil {
			return err
		}
		defer sides[i].kubelet.Stop()
	}
	fmt.Printf("ready after %.1f s\n", time.Since(begin).Seconds())
	clients, err := open(ctx, sides)
	if err != nil {
		return err
	}
	defer clients.close()
	move := move{url: clients.url(), method: method, programs: programs, kubeconfig: filepath.Join(dir, "kubeconfig"), east: sides[0], west: sides[1], held: hold != ""}
	if err := desk.WriteKubeconfig(move.kubeconfig, desk.Context{Name: "east", Kubeconfig: both[0].Kubeconfig()}, desk.Context{Name: "west", Kubeconfig: both[1].Kubeconfig()}); err != nil {
		return err
	}
	if err := move.deploy(ctx); err != nil {
		return err
	}
	if hold == before {
		move.hold(ctx, move.shown("plan"), move.shown("run"))
		return nil
	}
	if err := move.run(ctx); err != nil {
		return err
	}
	fmt.Printf("All of it took %.0f s, but for building.\n", time.Since(begin).Seconds())
	if hold == after {
		move.hold(ctx, append(tries, "", "# The way back: the plan names the objects in the way, with the command that removes each; then \"run\" instead of \"plan\"", move.wayBack())...)
	}
	return nil
}

func newSide(ctx context.Context, c *cluster.Cluster, dir string) (*side, error) {
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		return nil, err
	}
	pods := filepath.Join(dir, c.Name(), "pods")
	kubelet, err := player.Start(ctx, player.Options{
		Config: c.RESTConfig(), Program: filepath.Join(dir, "bin", "mover"), Dir: pods,
		Programs: map[string]string{workload: filepath.Join(dir, "bin", workload)},
	})
	if err != nil {
		return nil, err
	}
	return &side{Cluster: c, client: client, kubelet: kubelet, disks: filepath.Join(dir, c.Name(), "disks"), pods: pods}, nil
}

func headline(text string) { fmt.Printf("\n== %s\n", text) }

// show runs a command on this terminal.
func show(ctx context.Context, args ...string) error { return showIn(ctx, nil, args...) }

// showIn does so with more environment variables.
func showIn(ctx context.Context, env []string, args ...string) error {
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Env = append(os.Environ(), env...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(args[0]), err)
	}
	return nil
}

// list shows the objects of the application in a cluster.
func (s *side) list(ctx context.Context) error {
	if err := show(ctx, s.Kubectl(ctx, "get", "statefulset,pods,pdb", "-n", namespace).Args...); err != nil {
		return err
	}
	fmt.Println()
	return show(ctx, s.Kubectl(ctx, "get", "pvc", "-n", namespace, "-o",
		"custom-columns=CLAIM:.metadata.name,STATUS:.status.phase,DISK:.spec.volumeName").Args...)
}

// tries are suggested commands for after the move.
var tries = []string{
	"kubectl migrate status web -n shop --context east     # which ordinals have moved, and when",
	"kubectl migrate report web -n shop --context east     # how long each replica was away",
	"kubectl migrate kept --context east                   # the disks that were left behind, and how to delete each",
}

// hold keeps both clusters until it is interrupted, and suggests commands for another terminal.
func (m move) hold(ctx context.Context, commands ...string) {
	headline("Both clusters stay until this is interrupted (Ctrl-C). In another terminal")
	fmt.Printf("export KUBECONFIG=%s PATH=%s:$PATH     # contexts east and west\n\n", m.kubeconfig, m.programs)
	for _, each := range commands {
		fmt.Println(each)
	}
	<-ctx.Done()
}

// wayBack returns the command that plans the way back.
func (m move) wayBack() string {
	return fmt.Sprintf("kubectl migrate plan %s -n %s --context west --to-context east %s", set, namespace, strings.Join(m.volumes(), " "))
}
