package main

import (
	"context"
	"fmt"
	"strings"
)

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
