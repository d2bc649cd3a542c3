// Package slices compares our own StatefulSet kind with Kubernetes' native controller on one embedded cluster. It
// measures the time of whole operations, the writes of an update, and the memory of a manager with many pods.
package slices

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/measure"
)

// bench is one run on one cluster.
type bench struct {
	measure.Workshop
	rounds  int
	cluster *cluster.Cluster
	client  client.WithWatch
	figures figures
}

// Scenario declares the flags.
func Scenario(set *flag.FlagSet) *measure.Scenario {
	b := &bench{}
	set.IntVar(&b.rounds, "rounds", 6, "how often each contender does each operation; a multiple of three lets each be the first equally often")
	return &measure.Scenario{
		Target: "bench-slices", Begin: b.begin, Figures: &b.figures, Page: func() string { return b.figures.page() },
		Parts: []measure.Part{{Name: "times", Run: b.times}, {Name: "memory", Run: b.memory}},
		Show: func(out io.Writer) bool {
			return measure.Show(out, append(b.figures.timeRows(), b.figures.memoryRows()...))
		},
	}
}

func (b *bench) begin(ctx context.Context, w measure.Workshop) (end func() error, err error) {
	b.Workshop = w
	w.Say("starting a cluster")
	if b.cluster, err = cluster.Start(ctx, cluster.Options{Name: "bench", Log: os.Stderr, Gates: []string{cluster.MaxUnavailable}}); err != nil {
		return nil, err
	}
	if err := b.prepare(ctx); err != nil {
		return nil, errors.Join(err, b.cluster.Stop())
	}
	return b.cluster.Stop, nil
}

func (b *bench) prepare(ctx context.Context) error {
	scheme, err := fixture.Scheme()
	if err != nil {
		return err
	}
	if b.client, err = client.NewWithWatch(b.cluster.RESTConfig(), client.Options{Scheme: scheme}); err != nil {
		return err
	}
	return fixture.InstallCRDs(ctx, b.client)
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
	// FileMiB is the part of MiB that is pages of the program file.
	FileMiB float64 `json:"file_mib"`
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

// Goals of the slice controller.
const (
	mostRatio  = 1.0
	aimRatio   = 0.8
	mostWrites = 4.0
	mostMiB    = 120.0
	mostGrowth = 1.2
)

// operation is an operation of the contenders and its times.
type operation struct {
	name string
	pair
}

func (f figures) operations() []operation {
	return []operation{
		{"create 200, Parallel, s", f.Create},
		{"roll 200, OrderedReady, s", f.RollOrdered},
		{"roll 200, maxUnavailable 10%, s", f.RollTenPercent},
		{"scale 200 to 0, s", f.ScaleDown},
	}
}

// timeRows returns the ratios of ours to the native controller with their goals, and in brackets the values themselves.
func (f figures) timeRows() []measure.Row {
	if f.Create.Native == 0 {
		return nil
	}
	var rows []measure.Row
	for _, o := range f.operations() {
		remark := fmt.Sprintf(" (%.2f / %.2f; Never %.2f, %.2f)", o.Ours, o.Native, o.Never, o.Never/o.Native)
		rows = append(rows, measure.Judged(o.name+": ours / native", "%.2f", o.Ours/o.Native, mostRatio, remark).Aim("%.1f", aimRatio))
	}
	w := f.WritesPerUpdate
	return append(rows,
		measure.Judged("writes an updated pod", "%.2f", w.Ours, mostWrites, fmt.Sprintf(" (%.2f refused; native %.2f, Never %.2f)", f.RefusedOurs, w.Native, w.Never)),
		measure.Judged("writes in 30 s once settled", "%.0f", float64(f.SettledWrites), 0, ""))
}

func (f figures) memoryRows() []measure.Row {
	if len(f.Growth) == 0 {
		return nil
	}
	var rows []measure.Row
	for _, one := range f.Growth {
		rows = append(rows, measure.Shown(fmt.Sprintf("one set of %d, s, and peak MiB", one.Pods), fmt.Sprintf("%.1f, %.0f", one.Seconds, one.MiB)))
	}
	small, large := f.Growth[0], f.Growth[len(f.Growth)-1]
	return append(rows,
		measure.Judged(fmt.Sprintf("time a pod, of %d against of %d", large.Pods, small.Pods), "%.2f", f.TimeGrowth, mostGrowth, ""),
		measure.Judged("peak, one set of 5,000, MiB", "%.0f", f.PeakOneLarge, mostMiB, ""),
		measure.Judged("peak, 1,000 sets of 5, MiB", "%.0f", f.PeakManySmall, mostMiB, fmt.Sprintf(" (%.1f s)", f.SecondsMany)))
}

// page renders the figures for the documentation.
func (f figures) page() string {
	var b strings.Builder
	b.WriteString("| | native | ours, by default | ours, `Never` |\n|---|---|---|---|\n")
	for _, o := range f.operations() {
		fmt.Fprintf(&b, "| %s | %.2f | %.2f (%.2f) | %.2f (%.2f) |\n", o.name, o.Native, o.Ours, o.Ours/o.Native, o.Never, o.Never/o.Native)
	}
	w := f.WritesPerUpdate
	fmt.Fprintf(&b, "| writes for each updated pod | %.2f | %.2f | %.2f |\n\n", w.Native, w.Ours, w.Never)
	b.WriteString("No pod here can read the reason of its deletion, so by default none is notified: the last two columns differ only by other load on the machine.\n")
	fmt.Fprintf(&b, "The manager's peak was %.0f MiB with 5,000 pods in one set, and %.0f MiB with 1,000 sets of 5, of which %.0f MiB were pages of its\n"+
		"program file. Of one set of 5,000 a pod takes %.2f times as long to create as of one set of %d.\n",
		f.PeakOneLarge, f.PeakManySmall, f.Growth[len(f.Growth)-1].FileMiB, f.TimeGrowth, many)
	return b.String()
}
