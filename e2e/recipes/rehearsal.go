package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/e2e/built"
	"github.com/sliceshift/sliceshift/e2e/desk"
	"github.com/sliceshift/sliceshift/e2e/kind/disks"
	"github.com/sliceshift/sliceshift/e2e/kind/policy"
	"github.com/sliceshift/sliceshift/e2e/kind/stage"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/report"
)

// snapshotDriver is the provisioner of the volumes of a rehearsal, which both clusters share.
const snapshotDriver = "snapshots.example.com"

// rehearsal is a trial that rehearses a move before the move. It calls kubectl migrate as a user does.
type rehearsal struct {
	*stage.Trial
	program string
	env     []string
	counter *policy.Counter
	census  census
	// open and late are the packets of the refused rehearsals: without an engine, and with one that learns of a pod only
	// after its start. isolated are those of the real one.
	open, late, isolated packets
	compared             report.Rehearsal
}

// observed is how long the latency is measured before the rehearsal.
const observed = 30 * time.Second

// rehearse runs the trial. dir is for its files.
func rehearse(ctx context.Context, dir string, t *stage.Trial) (result stage.Result, err error) {
	driver, err := disks.Start(ctx, filepath.Join(dir, "snapshots"),
		disks.Site{Cluster: t.Pair.East, Driver: snapshotDriver, Snapshots: true}, disks.Site{Cluster: t.Pair.West, Driver: snapshotDriver, Snapshots: true})
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, stop(ctx, driver)) }()
	h := &rehearsal{Trial: t}
	if err := errors.Join(h.sitDown(ctx, dir), h.count(ctx)); err != nil {
		return result, err
	}
	t.Ready = h.refusals
	result, err = t.Perform(ctx, []stage.Part{
		{Name: "before", Do: stage.Undisturbed(observed)}, {Name: "rehearsing", Do: h.rehearse}, {Name: "moving", Do: h.move}, {Name: "after", Do: stage.Undisturbed(observed)},
	})
	if err != nil {
		return result, err
	}
	return result, h.publish(result)
}

// sitDown builds the command and writes the kubeconfig, with the contexts east and west.
func (h *rehearsal) sitDown(ctx context.Context, dir string) error {
	kubeconfig := filepath.Join(dir, "kubeconfig")
	h.program, h.env = filepath.Join(dir, "kubectl-migrate"), desk.Env(dir, kubeconfig)
	var contexts []desk.Context
	for _, c := range h.Pair.Both() {
		contexts = append(contexts, desk.Context{Name: c.Name, Kubeconfig: c.Kubeconfig})
	}
	return errors.Join(built.Command(ctx, "migrate", h.program), desk.WriteKubeconfig(kubeconfig, contexts...))
}

// count begins to count the packets of west's pods.
func (h *rehearsal) count(ctx context.Context) error {
	west := h.Pair.West
	service, err := west.Client.CoreV1().Services(metav1.NamespaceSystem).Get(ctx, "kube-dns", metav1.GetOptions{})
	if err != nil {
		return err
	}
	pods, err := policy.Follow(ctx, west)
	if err != nil {
		return err
	}
	h.census = census{pods.At, service.Spec.ClusterIP, map[string]bool{}}
	h.counter, err = policy.Count(ctx, west, west.Worker())
	return err
}

// judge returns the packets of the rehearsal that has ended last.
func (h *rehearsal) judge(ctx context.Context) (packets, error) {
	flows, err := h.counter.Read(ctx)
	if err != nil {
		return packets{}, err
	}
	return h.census.judge(flows)
}

// migrate runs kubectl migrate, and prints the command with its output. Another exit code than this one is an error.
func (h *rehearsal) migrate(ctx context.Context, code int, verb string, args ...string) error {
	cmd := h.command(ctx, verb, args...)
	var out, log strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &log
	err := cmd.Run()
	h.Say("$ kubectl migrate %s\n%s%s", shell.Command(cmd.Args[1:]...), log.String(), out.String())
	exit, is := errors.AsType[*exec.ExitError](err)
	if is && exit.ExitCode() == code || err == nil && code == 0 {
		return nil
	}
	return fmt.Errorf("kubectl migrate %s did not end with code %d: %w", verb, code, cmp.Or(err, errors.New("it ended with 0")))
}

// command returns a command of kubectl migrate for the members. The end of ctx interrupts it.
func (h *rehearsal) command(ctx context.Context, verb string, args ...string) *exec.Cmd {
	args = append([]string{verb, h.Members.Name, "-n", h.Members.Namespace, "--context", h.Pair.East.Name}, args...)
	cmd := exec.CommandContext(ctx, h.program, args...)
	cmd.Env = h.env
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd
}

// moved returns the flags of the move, for this recipe.
func (h *rehearsal) moved(recipe string, more ...string) []string {
	args := []string{"--to-context", h.Pair.West.Name, "--volume", h.Volume.ClaimTemplate + "=snapshot", "--recipe", recipe}
	if recipe == h.Recipe {
		for name, value := range h.Parameters {
			args = append(args, "--recipe-set", name+"="+value)
		}
	}
	return append(args, more...)
}

// within is how long the pods of a rehearsal may take.
const within = "90s"

func (h *rehearsal) tries(recipe string) []string {
	return h.moved(recipe, "--image", stage.ManagerImage, "--ready-within", within)
}

// refusals tries to rehearse what cannot be isolated: a system whose recipe forbids it, in a cluster that enforces no
// NetworkPolicy, and in one that enforces it too late. Then the cluster enforces it from the start of a pod.
func (h *rehearsal) refusals(ctx context.Context) (err error) {
	const refused = 3
	west := h.Pair.West
	if err := h.migrate(ctx, refused, "rehearse", h.tries("etcd")...); err != nil {
		return err
	}
	if h.open, err = h.refused(ctx, refused); err != nil {
		return fmt.Errorf("without an engine of NetworkPolicies: %w", err)
	}
	if err := policy.Install(ctx, west, engineImage); err != nil {
		return err
	}
	h.Say("west enforces NetworkPolicies, as soon as its engine knows of a pod")
	if h.late, err = h.refused(ctx, refused); err != nil {
		return fmt.Errorf("with an engine that knows of a pod only after its start: %w", err)
	}
	h.Say("west lets no packet of a pod pass before its engine knows of the pod")
	return policy.Close(ctx, west)
}

// refused tries to rehearse, and checks that packets of the pod behind the policy have passed.
func (h *rehearsal) refused(ctx context.Context, code int) (packets, error) {
	if err := h.migrate(ctx, code, "rehearse", h.tries(h.Recipe)...); err != nil {
		return packets{}, err
	}
	counted, err := h.judge(ctx)
	if err == nil && counted.left == 0 {
		err = errors.New("it was refused, but no packet has left the rehearsal")
	}
	return counted, err
}

// rehearse rehearses the move. No packet may leave.
func (h *rehearsal) rehearse(ctx context.Context) (err error) {
	if err := h.migrate(ctx, 0, "rehearse", h.tries(h.Recipe)...); err != nil {
		return err
	}
	if h.isolated, err = h.judge(ctx); err != nil {
		return err
	}
	h.Say("packets of the rehearsal: %s", h.isolated)
	switch p := h.isolated; {
	case p.control == 0:
		return errors.New("the pod without the NetworkPolicy has sent no packet, so the counters prove nothing")
	case p.left > 0:
		return fmt.Errorf("packets have left the rehearsal: %s", p)
	}
	return nil
}

// move moves the application, as the plan expects, and compares the move with the rehearsal.
func (h *rehearsal) move(ctx context.Context) error {
	if err := h.migrate(ctx, 0, "plan", h.moved(h.Recipe)...); err != nil {
		return err
	}
	if err := h.migrate(ctx, 0, "run", h.moved(h.Recipe, "--quiet")...); err != nil {
		return err
	}
	if err := h.migrate(ctx, 0, "report"); err != nil {
		return err
	}
	text, err := h.command(ctx, "report", "-o", "json").Output()
	if err != nil {
		return fmt.Errorf("kubectl migrate report -o json: %w", err)
	}
	var r report.Report
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("read the report: %w", err)
	}
	if r.Rehearsal == nil || r.Rehearsal.DownSeconds == nil || r.Rehearsal.MovedStartSeconds == nil {
		return errors.New("the report does not compare the move with its rehearsal")
	}
	h.compared = *r.Rehearsal
	return nil
}
