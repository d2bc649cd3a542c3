package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sliceshift/sliceshift/e2e/auditor"
)

// asked is the option for the volumes with method copy, in both directions.
const asked = template + "=copy,image=sliceshift:demo,service=load-balancer"

// move is the move of the application from east to west.
type move struct {
	method string
	// programs is the folder of kubectl and kubectl migrate, and kubeconfig has the contexts east and west.
	programs, kubeconfig string
	east, west           *side
	// url is where clients reach the application, wherever its replicas run.
	url string
	// held is true if the clusters stay, so that the way back can be tried.
	held bool
}

func (m move) run(ctx context.Context) error {
	copies := newCopies()
	watching, err := m.audit(ctx, copies)
	if err != nil {
		return err
	}
	if m.method == byCopy {
		defer copies.follow(ctx, m.west.kubelet, watching)()
	}
	for _, each := range []struct{ headline, verb string }{{"The plan", "plan"}, {"The move", "run"}} {
		headline(fmt.Sprintf("%s: %s", each.headline, m.shown(each.verb)))
		command := append([]string{filepath.Join(m.programs, "kubectl-migrate"), each.verb}, m.args()...)
		if err := showIn(ctx, []string{"KUBECONFIG=" + m.kubeconfig}, command...); err != nil {
			return err
		}
	}
	headline("West, after the move")
	if err := m.west.list(ctx); err != nil {
		return err
	}
	return m.prove(ctx, copies, watching)
}

// args are the arguments of plan and run.
func (m move) args() []string {
	args := []string{set, "-n", namespace, "--context", "east", "--to-context", "west", "--create-namespace"}
	return append(append(args, m.volumes()...), "--probe", m.url)
}

// volumes are the arguments that select the method.
func (m move) volumes() []string {
	if m.method == byCopy {
		return []string{"--volume", asked}
	}
	return []string{"--shared", template}
}

// shown is a command for a terminal with the kubeconfig, on two lines.
func (m move) shown(verb string) string {
	return strings.Replace("kubectl migrate "+verb+" "+strings.Join(m.args(), " "), " --create-namespace", " \\\n     --create-namespace", 1)
}

// deploy deploys the application in east.
func (m move) deploy(ctx context.Context) error {
	headline(fmt.Sprintf("Deploying StatefulSet %s/%s to east: %d replicas that write, maxUnavailable 1", namespace, set, replicas))
	home := 0
	if m.held && m.method == byCopy {
		home = replicas + spare // moved replicas keep their disks here
	}
	if err := m.east.provide(ctx, replicas, home); err != nil {
		return err
	}
	if err := m.west.provide(ctx, 0, replicas+spare); err != nil {
		return err
	}
	if err := application().Deploy(ctx, m.east.client); err != nil {
		return err
	}
	return m.east.list(ctx)
}

func (m move) audit(ctx context.Context, c *copies) (*auditor.Auditor, error) {
	options := auditor.Options{
		Source:      auditor.Side{Name: "east", Config: m.east.RESTConfig(), Namespace: namespace, Set: set},
		Destination: auditor.Side{Name: "west", Config: m.west.RESTConfig(), Namespace: namespace, Set: set},
		Budget:      1,
	}
	if m.method == byCopy {
		options.Copied, options.Content = []string{template}, c.compare
	}
	return auditor.Start(ctx, options)
}

// prove shows the moved objects and the auditor's verdict.
func (m move) prove(ctx context.Context, c *copies, watching *auditor.Auditor) error {
	headline("What each replica has in west")
	if err := m.table(ctx, c); err != nil {
		return err
	}
	headline("The auditor, who watched both clusters over connections of its own")
	verdict := watching.Finish(ctx)
	fmt.Println(verdict)
	if !verdict.OK() {
		return errors.New("the auditor does not agree")
	}
	return nil
}
