// Command controlplane is a whole Kubernetes control plane in one binary: the
// first argument names the role that the process plays. One process for each
// role and cluster lets a test kill, freeze and restart each of them alone.
package main

import (
	"fmt"
	"os"

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

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: controlplane {etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kwok|kubectl} [flags]")
		os.Exit(2)
	}
	role := os.Args[1]
	os.Args = os.Args[1:]

	var command *cobra.Command
	switch role {
	case "etcd":
		etcdmain.Main(os.Args)
		return
	case "kwok":
		runKwok()
		return
	case "kubectl":
		kubectlutil.CheckErr(cli.RunNoErrOutput(kubectlcmd.NewDefaultKubectlCommand()))
		return
	case "kube-apiserver":
		command = kubeapiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		command = kubecontrollermanager.NewControllerManagerCommand()
	case "kube-scheduler":
		command = kubescheduler.NewSchedulerCommand()
	default:
		fmt.Fprintf(os.Stderr, "controlplane: unknown role %q\n", role)
		os.Exit(2)
	}
	os.Exit(cli.Run(command))
}
