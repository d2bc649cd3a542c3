// Command suite runs specs of k8s.io/kubernetes/test/e2e/apps against the cluster of a kubeconfig. It has the flags of
// e2e.test, and of its packages only this one. Unlike e2e.test it prepares nothing: the caller has a cluster whose nodes are
// Ready.
package main

import (
	"flag"
	"os"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	_ "k8s.io/kubernetes/test/e2e/apps"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"
	_ "k8s.io/kubernetes/test/e2e/framework/debug/init" // logs the objects of a namespace when a spec fails
)

// result receives the failure of a spec, as *testing.T does.
type result struct{ failed bool }

func (r *result) Fail() { r.failed = true }

func main() {
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	framework.AfterReadingAllFlags(&framework.TestContext)
	gomega.RegisterFailHandler(framework.Fail)
	suite, reporter := framework.CreateGinkgoConfig()
	r := &result{}
	if passed := ginkgo.RunSpecs(r, "specs", suite, reporter); !passed || r.failed {
		os.Exit(1)
	}
}
