package metrics

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/metric"
	"github.com/sliceshift/sliceshift/migration/handoffs"
)

// The gauges. Those with a namespace and a name describe one migration.
var (
	ordinalsGauge = gauge("ordinals", "Ordinals that a migration moves, the moved ones included.",
		"With sliceshift_migration_ordinals_moved: the progress of each migration.", "namespace", "name")
	movedGauge = gauge("ordinals_moved", "Ordinals of a migration that are available at its destination.",
		"Progress. Where it falls, a rollback is under way.", "namespace", "name")
	budgetGauge = gauge("budget_replicas", "Disruption budget of a migration's application: how many of its replicas may be unavailable at once.",
		"The upper limit of sliceshift_migration_budget_left_replicas.", "namespace", "name")
	leftGauge = gauge("budget_left_replicas", "Replicas of a migration's application that may still become unavailable, on both sides together; below 0: the budget is exceeded.",
		"0 is usual during a handoff. 0 for long means that no node can be drained, and below 0 that another replica has failed.", "namespace", "name")
	waitingGauge = gauge("waiting_seconds", "Seconds that a migration has been waiting for a reason; stalled: true when something outside must change first.",
		"What holds moves up now. kubectl migrate explain prints what the reason means.", "namespace", "name", "reason", "stalled")
	downGauge = gauge("ordinal_down_seconds", "Seconds since when no pod of the ordinal in handoff is Ready; absent while one is.",
		"Compare it with sliceshift_migration_handoff_longest_seconds of the same migration.", "namespace", "name")
	soakGauge = gauge("ordinal_soak_seconds", "Seconds that the pod of the ordinal in handoff has been Ready after its start; absent before, and once the ordinal is available.",
		"It serves meanwhile: the handoff waits for minReadySeconds.", "namespace", "name")
	longestGauge = gauge("handoff_longest_seconds", "Seconds of a migration's longest handoff that reached the destination; absent before the first.",
		"The expected duration of the next handoff.", "namespace", "name")
	lookGauge = gauge("last_pass_timestamp_seconds", "When a migration that has not ended, and is not in line, was last looked at, in seconds since 1970.",
		"Each is looked at every 30 seconds at least. One that is not has a manager that is stuck or overloaded.", "namespace", "name")

	stateGauge = metric.Gauge(metric.Definition{
		Name: "sliceshift_migrations", Labels: []string{"destination", "state"},
		Help: "Migrations by the name of their destination's kubeconfig Secret (local: the manager's own cluster) and their state: checking, queued (in line), active, paused, stalled, completed.",
		Use:  "How many are under way to each cluster, and how many stand in line for it.",
	})
	stalledGauge = metric.Gauge(metric.Definition{
		Name: "sliceshift_migrations_stalled", Labels: []string{"reason"},
		Help: "Migrations that are stalled now, by reason.",
		Use:  "The same reason many times is one cause: a cluster that does not answer, a role that was taken away.",
	})
)

func gauge(name, help, use string, labels ...string) *prometheus.Desc {
	return metric.Gauge(metric.Definition{Name: "sliceshift_migration_" + name, Help: help, Use: use, Labels: labels})
}

// All holds the migrations of this process, in the registry of controller-runtime.
var All = NewMigrations(clock.RealClock{})

func init() { //nolint:gochecknoinits // the registry of controller-runtime is filled at start
	metric.Serve(All)
}

// Migrations holds the migrations that a process has reconciled. The metrics of a migration are removed
// together with it. It is safe for concurrent use.
type Migrations struct {
	clock clock.PassiveClock

	mu sync.Mutex
	of map[types.NamespacedName]*followed
}

// followed is one migration.
type followed struct {
	uid     types.UID
	tracker handoffs.Tracker
	facts   facts
	// since is the start of the wait in facts, and looked the time of the last reconcile.
	since, looked time.Time
}

// NewMigrations returns Migrations without an entry.
func NewMigrations(clock clock.PassiveClock) *Migrations {
	return &Migrations{clock: clock, of: map[types.NamespacedName]*followed{}}
}

// See records a migration after a reconcile. destination is the name of its destination cluster.
func (all *Migrations) See(m *api.Migration, destination string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	f, now, next := all.follow(m), all.clock.Now(), factsOf(m, destination)
	switch {
	case !next.since.IsZero():
		f.since = next.since
	case next.reason != f.facts.reason:
		f.since = now
	}
	f.facts, f.looked = next, now
}

// Track records the result of a pass, and returns the changes of each of the migration's handoffs. about is the ordinal
// that the look is about; nil: the one of status.handoff.
func (all *Migrations) Track(m *api.Migration, about *int32, look handoffs.Look) []handoffs.Changes {
	all.mu.Lock()
	defer all.mu.Unlock()
	if look.Now.IsZero() {
		look.Now = all.clock.Now()
	}
	return all.follow(m).tracker.SeeAll(m, about, look)
}

// Forget removes a migration that was deleted.
func (all *Migrations) Forget(key types.NamespacedName) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.of, key)
}

func (all *Migrations) follow(m *api.Migration) *followed {
	key := client.ObjectKeyFromObject(m)
	f := all.of[key]
	if f == nil || f.uid != m.UID {
		f = &followed{uid: m.UID}
		all.of[key] = f
	}
	return f
}

// Describe implements prometheus.Collector.
func (all *Migrations) Describe(to chan<- *prometheus.Desc) {
	for _, each := range []*prometheus.Desc{
		ordinalsGauge, movedGauge, budgetGauge, leftGauge, waitingGauge, downGauge, soakGauge, longestGauge, lookGauge, stateGauge, stalledGauge,
	} {
		to <- each
	}
}

// Collect implements prometheus.Collector.
func (all *Migrations) Collect(to chan<- prometheus.Metric) {
	all.mu.Lock()
	defer all.mu.Unlock()
	now := all.clock.Now()
	states, stalled := map[[2]string]int{}, map[string]int{}
	for key, f := range all.of {
		f.collect(to, key, now)
		states[[2]string{f.facts.destination, string(f.facts.state)}]++
		if f.facts.state == StateStalled {
			stalled[f.facts.reason]++
		}
	}
	for labels, n := range states {
		send(to, stateGauge, float64(n), labels[:]...)
	}
	for reason, n := range stalled {
		send(to, stalledGauge, float64(n), reason)
	}
}

func (f *followed) collect(to chan<- prometheus.Metric, key types.NamespacedName, now time.Time) {
	tell := func(desc *prometheus.Desc, value float64, more ...string) {
		send(to, desc, value, append([]string{key.Namespace, key.Name}, more...)...)
	}
	tell(ordinalsGauge, float64(f.facts.total))
	tell(movedGauge, float64(f.facts.moved))
	if f.facts.state == Completed {
		return
	}
	if f.facts.accepted {
		tell(budgetGauge, float64(f.facts.budget))
		tell(leftGauge, float64(f.facts.left))
	}
	if f.facts.reason != "" {
		tell(waitingGauge, now.Sub(f.since).Seconds(), f.facts.reason, strconv.FormatBool(f.facts.state == StateStalled))
	}
	switch down := f.facts.down; {
	case down == nil:
	case down.Ready == nil:
		tell(downGauge, down.Outage(now).Seconds())
	default:
		tell(soakGauge, down.Soak(now).Seconds())
	}
	if f.facts.longestSeconds > 0 {
		tell(longestGauge, float64(f.facts.longestSeconds))
	}
	if f.facts.state != Queued { // it is not reconciled until its turn
		tell(lookGauge, float64(f.looked.Unix()))
	}
}

func send(to chan<- prometheus.Metric, desc *prometheus.Desc, value float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
}
