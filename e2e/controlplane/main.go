// Command controlplane is a whole Kubernetes control plane in one binary. The role of a process is the name it was
// started under or, under any other name, its first argument. One process for each role and cluster lets a test kill,
// freeze and restart each of them alone. Built with the tag "node" it also has the programs of a node, for the node
// image of e2e/kind.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics on /metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // build info on /metrics
	kubectlcmd "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	kubeapiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kubecontrollermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	kubescheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// roles are the roles of a process. The tag "node" adds to them.
var roles = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kwok":                    runKwok,
	"kubectl":                 runKubectl,
	"kube-apiserver":          run(kubeapiserver.NewAPIServerCommand),
	"kube-controller-manager": run(kubecontrollermanager.NewControllerManagerCommand),
	"kube-scheduler":          run(newScheduler),
}

func main() {
	if role, ok := roles[filepath.Base(os.Args[0])]; ok {
		role()
		return
	}
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: controlplane {etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kwok|kubectl} [flags]")
		os.Exit(2)
	}
	role, ok := roles[os.Args[1]]
	if !ok {
		fmt.Fprintf(os.Stderr, "controlplane: unknown role %q\n", os.Args[1])
		os.Exit(2)
	}
	os.Args = os.Args[1:]
	role()
}

// run returns a role that runs a command of component-base.
func run(command func() *cobra.Command) func() {
	return func() { os.Exit(cli.Run(command())) }
}

func newScheduler() *cobra.Command { return kubescheduler.NewSchedulerCommand() }

func runKubectl() { kubectlutil.CheckErr(cli.RunNoErrOutput(kubectlcmd.NewDefaultKubectlCommand())) }
