package auditor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
)

// Defaults of Options.
const (
	DefaultCheckTimeout   = 2 * time.Minute
	DefaultRequestTimeout = 5 * time.Second
	DefaultSampleInterval = 500 * time.Millisecond
)

// noSet is the name of the destination of a migration in place. No set has it, so that there are no pods and no claims on
// that side.
const noSet = "sliceshift-audit-none"

// Side is one end of the move.
type Side struct {
	// Name is the cluster's name in messages. Default: "source" or "destination".
	Name string
	// Config reaches the cluster. It is copied; the auditor opens its own connections and does not throttle itself.
	// Required.
	Config *rest.Config
	// Namespace of the set, its pods, claims and budgets. Required.
	Namespace string
	// Set is the name of the StatefulSet. Required.
	Set string
	// Resource is the kind of the set: anything with spec.replicas,
	// spec.ordinals.start, spec.template and spec.volumeClaimTemplates. Default:
	// statefulsets of apps/v1.
	Resource schema.GroupVersionResource
}

// Options configure an audit.
type Options struct {
	// Source and Destination are the two ends. Both are required.
	Source, Destination Side
	// OwnVolumes are the claim templates of which each side has its own volumes. No disk is carried over. For them I3
	// proves that none is lost, but not which volume a pod starts on.
	OwnVolumes []string
	// InPlace is true for a migration that replaces the volumes of Source's set under its own name. Destination is not used.
	// Copied are then the claim templates whose volumes it replaces.
	InPlace bool
	// Copied are the claim templates whose content gets to a disk of the other side by a copy or a snapshot. For them
	// I3 proves that a pod starts on the content that it had when it stopped, and I2 that no ordinal has its claim on
	// both sides.
	Copied []string
	// Content returns the differences between two folders of this machine, or two handles of a CSI driver, one per
	// line. Required with Copied. A volume must not be written before Compared counts it.
	Content func(ctx context.Context, from, to string) ([]string, error)
	// Keep copies a folder or device of this machine, and returns the path of the copy, which no other process writes. nil
	// means that no content is kept: then no volume that an ordinal has left is compared again at the end.
	Keep func(ctx context.Context, from string) (kept string, err error)
	// Budget is d, the number of replicas that may be down at once because of the move and of evictions together. 0
	// skips I4.
	Budget int32
	// CheckTimeout bounds how long one check waits for an API server that does not answer. Then the check is recorded
	// as unproved. Default: DefaultCheckTimeout.
	CheckTimeout time.Duration
	// RequestTimeout bounds one read. Default: DefaultRequestTimeout.
	RequestTimeout time.Duration
	// SampleInterval is the longest pause between two samples. Samples are taken
	// at every relevant event as well. Default: DefaultSampleInterval.
	SampleInterval time.Duration
	// Clock is the clock of the report's times. Default: the real clock.
	Clock clock.PassiveClock
}

// complete fills in the defaults and reports the missing options.
func (o Options) complete() (Options, error) {
	var errs []error
	if o.InPlace {
		o.Destination = o.Source
		o.Destination.Name, o.Destination.Set = "", noSet
	}
	for i, s := range [2]*Side{&o.Source, &o.Destination} {
		if s.Name == "" {
			s.Name = judge.SideIndex(i).String()
		}
		if s.Resource.Empty() {
			s.Resource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
		}
		if s.Config == nil || s.Namespace == "" || s.Set == "" {
			errs = append(errs, fmt.Errorf("%s: config, namespace and set are required", judge.SideIndex(i)))
		}
	}
	if len(o.Copied) > 0 && o.Content == nil {
		errs = append(errs, errors.New("copied volumes cannot be judged without Content"))
	}
	if o.Budget < 0 {
		errs = append(errs, fmt.Errorf("budget is %d, must not be negative", o.Budget))
	}
	o.CheckTimeout = orDefault(o.CheckTimeout, DefaultCheckTimeout)
	o.RequestTimeout = orDefault(o.RequestTimeout, DefaultRequestTimeout)
	o.SampleInterval = orDefault(o.SampleInterval, DefaultSampleInterval)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o, errors.Join(errs...)
}

func orDefault(d, fallback time.Duration) time.Duration {
	if d <= 0 {
		return fallback
	}
	return d
}
