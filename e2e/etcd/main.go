// Command etcd moves a running etcd of three members from one kind cluster to another, rolls it back halfway, and
// moves it again, while clients in both clusters write and read. It proves by their histories that no acknowledged
// write was lost and that all clients saw one order: make e2e-etcd. Its measurements go to docs/engineering/etcd.md and
// docs/engineering/etcd.svg.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/sliceshift/sliceshift/e2e/built"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/disks"
	"github.com/sliceshift/sliceshift/e2e/kind/replica"
	"github.com/sliceshift/sliceshift/e2e/kind/stage"
	"github.com/sliceshift/sliceshift/internal/program"
)

// The images of the demonstration.
const (
	etcdImage   = "sliceshift/etcd:e2e"
	clientImage = "sliceshift/etcd-client:e2e"
)

func main() {
	runs := flag.Int("runs", 3, "how often it is done undisturbed")
	only := flag.String("only", "", "run the scenarios whose names begin so, and write no page")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	program.Run("etcd", func(ctx context.Context) error { return demonstrate(ctx, *runs, *only) })
}

// demonstrate starts the clusters once and runs the scenarios on them: all, or those whose names have the given
// prefix.
func demonstrate(ctx context.Context, runs int, only string) error {
	chosen := slices.DeleteFunc(scenarios(runs), func(s scenario) bool { return !strings.HasPrefix(s.name, only) })
	if len(chosen) == 0 {
		return fmt.Errorf("no scenario's name begins with %q", only)
	}
	return stage.On(ctx, "e2e-etcd", buildImages, func(ctx context.Context, dir string, pair *kind.Pair) (err error) {
		driver, err := disks.Start(ctx, filepath.Join(dir, "disks"), disks.Site{Cluster: pair.East, Driver: eastDriver}, disks.Site{Cluster: pair.West, Driver: westDriver})
		if err != nil {
			return err
		}
		defer func() {
			stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			err = errors.Join(err, driver.Stop(stopping))
		}()
		var results []result
		for i, what := range chosen {
			r, err := what.play(ctx, pair, i+1)
			if err != nil {
				return fmt.Errorf("%s: %w (what the nodes logged is in %s)", what.name, err, dir)
			}
			results = append(results, r)
		}
		printTable(os.Stdout, results)
		if only == "" {
			err = publish(results)
		}
		return errors.Join(err, verdict(results))
	})
}

// buildImages builds the images of the pods. Their programs are a separate Go module, so that the product does not
// require its dependencies.
func buildImages(ctx context.Context, dir string) ([]string, error) {
	programs, err := built.Module("e2e", "etcd", "programs")
	if err != nil {
		return nil, err
	}
	err = errors.Join(kind.BuildImage(ctx, dir, filepath.Join(programs, "etcd"), etcdImage), kind.BuildImage(ctx, dir, filepath.Join(programs, "client"), clientImage))
	return []string{etcdImage, clientImage}, err
}

// publish writes the figures into the documentation.
func publish(results []result) error {
	page, err := page(results)
	if err != nil {
		return err
	}
	folder, err := built.Module("docs", "engineering")
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(folder, "etcd.svg"), []byte(drawing(results[0])), 0o644),
		os.WriteFile(filepath.Join(folder, "etcd.md"), []byte(page), 0o644),
	)
}

// verdict returns an error for every run in which something was lost or broken.
func verdict(results []result) error {
	var errs []error
	for _, r := range results {
		for _, complaint := range r.complaints() {
			errs = append(errs, fmt.Errorf("%s: %s", r.name, complaint))
		}
	}
	return errors.Join(errs...)
}

// The application that moves: StatefulSet shop/etcd of three members.
const (
	namespace = "shop"
	name      = "etcd"
	members   = 3

	clientPort, peerPort = 2379, 2380
)

// app are its members. The other members know each by its name from the first start on.
var app = stage.Members{
	Namespace: namespace, Name: name, Replicas: members,
	Ports: []corev1.ServicePort{{Name: "client", Port: clientPort}, {Name: "peer", Port: peerPort}},
}

// url returns the URL of a member, which is valid in whichever cluster it runs.
func url(member string, port int) string { return fmt.Sprintf("http://%s:%d", app.Host(member), port) }

func clientURLs() string {
	var urls []string
	for _, member := range app.Names() {
		urls = append(urls, url(member, clientPort))
	}
	return strings.Join(urls, ",")
}

// container returns that of a member. A member listens on every address and is known only by its name, because its
// address changes with the move. On a volume with data, etcd ignores the initial cluster. A member is Ready when it
// answers linearizable reads: it has a leader, and has applied everything that was committed at the time of the request.
func container() corev1.Container {
	var initial []string
	for _, member := range app.Names() {
		initial = append(initial, member+"="+url(member, peerPort))
	}
	return corev1.Container{
		Name: name, Image: etcdImage, Env: []corev1.EnvVar{replica.Field("POD_NAME", replica.PodName)},
		Args: []string{
			"--name=$(POD_NAME)", "--data-dir=/data/etcd", "--log-outputs=stderr,/data/log",
			fmt.Sprintf("--listen-client-urls=http://0.0.0.0:%d", clientPort), "--advertise-client-urls=" + url("$(POD_NAME)", clientPort),
			fmt.Sprintf("--listen-peer-urls=http://0.0.0.0:%d", peerPort), "--initial-advertise-peer-urls=" + url("$(POD_NAME)", peerPort),
			"--initial-cluster=" + strings.Join(initial, ","), "--initial-cluster-token=" + namespace,
		},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromInt32(clientPort)}},
			PeriodSeconds: 1, TimeoutSeconds: 2, FailureThreshold: 3,
		},
	}
}
