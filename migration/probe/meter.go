package probe

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/health"
)

const (
	// Round is the time between two rounds of queries to a Prometheus server, which usually scrapes no more
	// often.
	Round = 15 * time.Second
	// patience is the timeout of one query.
	patience = 5 * time.Second
	// field is the field of a Migration that describes the Prometheus server of a probe.
	field = "probe.prometheus"
)

// Meter queries a Prometheus server for the requests of clients since a migration began. It has no counts of
// single handoffs, which are shorter than the time between two scrapes.
type Meter struct {
	server *health.Prometheus
	spec   api.PrometheusProbe
	about  About
	clock  clock.PassiveClock
	mu     sync.Mutex
	status *api.ProbeStatus
}

// About identifies the migration that a Meter measures.
type About struct {
	// Migration is the migration, whose namespace holds the token. StatefulSet is the one that it moves.
	Migration, StatefulSet types.NamespacedName
	// Began is when the migration began.
	Began time.Time
}

func (a About) variables(now time.Time) health.Variables {
	since := max(int64(now.Sub(a.Began)/time.Second), 1)
	return health.Variables{"namespace": a.StatefulSet.Namespace, "statefulset": a.StatefulSet.Name, "since": fmt.Sprintf("%ds", since)}
}

// Check returns an error if a spec cannot be used with any address. It opens no connection.
func Check(spec api.ProbeSpec) error {
	anywhere := health.Addresses{Any: true}
	if spec.Prometheus == nil {
		_, err := NewTarget(spec.URL, anywhere)
		return err
	}
	_, err := NewMeter(*spec.Prometheus, About{}, anywhere, health.Secrets{}, clock.RealClock{})
	return err
}

// NewMeter returns a Meter, if its Prometheus server is allowed. It opens no connection.
func NewMeter(spec api.PrometheusProbe, about About, allowed health.Addresses, secrets health.Secrets, times clock.PassiveClock) (*Meter, error) {
	server, err := health.NewPrometheus(field, spec.PrometheusServer, allowed, secrets)
	if err != nil {
		return nil, err
	}
	for name, query := range map[string]string{"requests": spec.Requests, "failed": spec.Failed, "p99": spec.P99} {
		if err := about.variables(about.Began).Check(field+"."+name, query); err != nil {
			return nil, err
		}
	}
	return &Meter{server: server, spec: spec, about: about, clock: times}, nil
}

// Continue makes the Meter return the status of an earlier process until it has its own.
func (m *Meter) Continue(before *api.ProbeStatus) { m.status = before }

// Start starts the queries, and returns the function that stops them. Neither of the two blocks.
func (m *Meter) Start() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		ticker := time.NewTicker(Round)
		defer ticker.Stop()
		for {
			m.ask(ctx)
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}()
	return cancel
}

// Status returns the requests of clients; nil if they are unknown and there is no message.
func (m *Meter) Status() *api.ProbeStatus {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.status.DeepCopy()
}

// ask sends all queries once. The counts remain unchanged if one of them is not answered.
func (m *Meter) ask(ctx context.Context) {
	now := m.clock.Now()
	figures, why := m.figures(ctx, now)
	if ctx.Err() != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if why == "" {
		m.status = &api.ProbeStatus{ClientRequests: figures, Time: metav1.NewMicroTime(now)}
		return
	}
	if m.status == nil {
		m.status = &api.ProbeStatus{Time: metav1.NewMicroTime(now)}
	}
	m.status = m.status.DeepCopy()
	m.status.Message = atMost(longestMessage, why)
}

// figures returns the answers to all queries. why is the error of a failed query; empty if all succeeded.
func (m *Meter) figures(ctx context.Context, now time.Time) (f api.ClientRequests, why string) {
	defer func() {
		if cause := recover(); cause != nil {
			why = fmt.Sprintf("asking has failed inside of the process that moves: %v", cause)
		}
	}()
	requests, found, why := m.number(ctx, now, "requests", m.spec.Requests)
	if why == "" && !found {
		why = fmt.Sprintf("%s has counted nothing for %s.requests; check the names and labels in it", m.server, field)
	}
	if why != "" {
		return f, why
	}
	failed, _, why := m.number(ctx, now, "failed", m.spec.Failed)
	if why != "" {
		return f, why
	}
	f.Requests, f.Failed = int64(math.Round(requests)), int64(math.Round(failed))
	if m.spec.P99 != "" && f.Requests > f.Failed {
		var p99 float64
		p99, _, why = m.number(ctx, now, "p99", m.spec.P99)
		f.P99Milliseconds = int64(math.Ceil(p99 * 1000))
	}
	return f, why
}

// most is the maximum of a count; all counts up to it are exact in a float64.
const most = 1 << 50

// number returns the result of a query, and whether it has one.
func (m *Meter) number(ctx context.Context, now time.Time, name, query string) (value float64, found bool, why string) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	result, _, trouble := m.server.Numbers(ctx, m.about.Migration.Namespace, name, m.about.variables(now).Fill(query))
	switch {
	case trouble != nil:
		return 0, false, short(trouble.Message)
	case len(result) > 1:
		return 0, false, fmt.Sprintf("%s answers %s.%s with %d series; let it add them up: sum(...)", m.server, field, name, len(result))
	case len(result) == 0:
		return 0, false, ""
	case !(result[0] >= 0 && result[0] <= most):
		return 0, false, fmt.Sprintf("%s answers %s.%s with %v, which is no count and no time; ask for the increase of a counter, or for a quantile", m.server, field, name, result[0])
	}
	return result[0], true, ""
}
