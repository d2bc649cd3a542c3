package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/sliceshift/sliceshift/e2e/desk"
)

// tries are suggested commands for after the move.
var tries = []string{
	"kubectl migrate status web -n shop --context east     # what has moved, and when",
	"kubectl migrate report web -n shop --context east     # how long each replica was away",
	"kubectl migrate kept --context east                   # the disks that were left behind, and how each goes",
}

// hold keeps both clusters until it is interrupted, and explains how to reach them from another terminal.
func (m move) hold(ctx context.Context, dir, programs string) error {
	kubeconfig := filepath.Join(dir, "kubeconfig")
	err := desk.WriteKubeconfig(kubeconfig, desk.Context{Name: "east", Kubeconfig: m.east.Kubeconfig()}, desk.Context{Name: "west", Kubeconfig: m.west.Kubeconfig()})
	if err != nil {
		return err
	}
	headline("Both clusters stay until this is interrupted (Ctrl-C). In another terminal")
	fmt.Printf("export KUBECONFIG=%s PATH=%s:$PATH     # contexts east and west\n\n", kubeconfig, programs)
	for _, each := range tries {
		fmt.Println(each)
	}
	fmt.Printf("\n# The way back: what is in its place is named, with the command that makes way; then \"run\" instead of \"plan\"\n%s\n", m.wayBack())
	<-ctx.Done()
	return nil
}

// wayBack returns the command that plans the way back.
func (m move) wayBack() string {
	how := "--shared " + template
	if m.method == byCopy {
		how = "--volume " + asked
	}
	return fmt.Sprintf("kubectl migrate plan %s -n %s --context west --to-context east %s", set, namespace, how)
}
