package slices

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/internal/clusters"
	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// bench is one run on one cluster.
type bench struct {
	begun   time.Time
	cluster *cluster.Cluster
	client  client.WithWatch
	figures figures
}

// pair is one measurement of ours, with its defaults, and of the native controller. Never is ours when it announces no
// termination reason. By default it announces the reason to pods that can read it, and there are none here.
type pair struct {
	Ours   float64 `json:"ours"`
	Never  float64 `json:"ours_never"`
	Native float64 `json:"native"`
}

// figures are the measurements, in seconds unless stated otherwise.
type figures struct {
	Create          pair    `json:"create_200"`
	RollOrdered     pair    `json:"roll_200_ordered"`
	RollTenPercent  pair    `json:"roll_200_10pct"`
	ScaleDown       pair    `json:"scale_to_0"`
	WritesPerUpdate pair    `json:"writes_per_update"`
	RefusedOurs     float64 `json:"refused_writes_per_update"`
	SettledWrites   int64   `json:"settled_writes_30s"`
	Growth          []size  `json:"growth"`
	TimeGrowth      float64 `json:"time_per_pod_5000_to_200"`
	PeakOneLarge    float64 `json:"peak_mib_5000"`
	PeakManySmall   float64 `json:"peak_mib_1000x5"`
	SecondsOneLarge float64 `json:"create_5000_seconds"`
	SecondsMany     float64 `json:"create_1000x5_seconds"`
}

// size is the time to create one set with that many pods: the median, if there were several.
type size struct {
	Pods    int32   `json:"pods"`
	Seconds float64 `json:"seconds"`
	MiB     float64 `json:"peak_mib"`
}

func newBench(ctx context.Context) (*bench, error) {
	b := &bench{begun: time.Now()}
	binary, err := cluster.Build(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	b.say("starting a cluster")
	if b.cluster, err = cluster.Start(ctx, cluster.Options{Name: "bench", Binary: binary}); err != nil {
		return nil, err
	}
	if err := b.prepare(ctx); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) prepare(ctx context.Context) error {
	unthrottled := rest.CopyConfig(b.cluster.RESTConfig())
	unthrottled.QPS = -1
	scheme := clusters.NewScheme()
	if err := addDefinitions(scheme); err != nil {
		return err
	}
	var err error
	if b.client, err = client.NewWithWatch(unthrottled, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	crds, err := config.CRDs()
	if err != nil {
		return err
	}
	for _, crd := range crds {
		if err := b.client.Create(ctx, crd); err != nil {
			return err
		}
	}
	return wait.PollUntilContextTimeout(ctx, lookAgain, time.Minute, true, func(ctx context.Context) (bool, error) {
		return b.client.List(ctx, &slicesapi.StatefulSetList{}) == nil, nil
	})
}

func (b *bench) close() {
	if err := b.cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the cluster:", err)
	}
}

// namespace creates a namespace in which pods can be created.
func (b *bench) namespace(ctx context.Context, name string) error {
	if err := b.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, lookAgain, time.Minute, true, func(ctx context.Context) (bool, error) {
		return b.client.Get(ctx, client.ObjectKey{Namespace: name, Name: "default"}, &corev1.ServiceAccount{}) == nil, nil
	})
}

// lookAgain is the poll interval.
const lookAgain = 20 * time.Millisecond
