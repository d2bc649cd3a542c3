package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/player"
	"github.com/sliceshift/sliceshift/internal/treediff"
)

// judge compares the disks of a replica when it starts on another one. It shares no code with the mover.
type judge struct {
	*stage
	mu sync.Mutex
	// last is the disk on which a replica has run, by its pod.
	last     map[string]string
	compared []comparison
	errs     []error
}

// comparison is the result of one comparison.
type comparison struct {
	pod, from, to string
	found         []string
}

// starts compares the disks of a replica before its process starts, and fills its first disk.
func (j *judge) starts(ctx context.Context, m player.Moment) {
	if _, writes := m.Pod.Labels[player.ProgramKey]; !writes || m.Step != player.StepStart {
		return
	}
	if err := j.start(ctx, m.Pod); err != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.errs = append(j.errs, fmt.Errorf("%s: %w", m.Pod.Name, err))
	}
}

func (j *judge) start(ctx context.Context, pod *corev1.Pod) error {
	volume, err := fixture.BoundVolume(ctx, j.client, namespace, template+"-"+pod.Name)
	if err != nil {
		return err
	}
	now := volume.Spec.CSI.VolumeHandle
	j.mu.Lock()
	was := j.last[pod.Name]
	j.last[pod.Name] = now
	j.mu.Unlock()
	switch was {
	case "":
		return fill(j.site.Kubelet.Path(pod.UID, volume.Name), pod.Name)
	case now:
		return nil
	}
	found, err := j.differences(ctx, was, now)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.compared = append(j.compared, comparison{pod.Name, was, now, found})
	return err
}

// differences compares two disks.
func (j *judge) differences(ctx context.Context, from, to string) ([]string, error) {
	one, done, err := j.folder.Look(ctx, from)
	if err != nil {
		return nil, err
	}
	other, ended, err := j.folder.Look(ctx, to)
	if err != nil {
		return nil, errors.Join(err, done())
	}
	found, err := treediff.Compare(ctx, one, other)
	return found, errors.Join(err, done(), ended())
}

// print prints all comparisons, and returns an error if a disk differs, or was not compared.
func (j *judge) print() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	errs := j.errs
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "replica\tdisk before\tdisk after\tcontents")
	for _, c := range j.compared {
		verdict := "equal"
		if len(c.found) > 0 {
			verdict = "DIFFERENT: " + c.found[0]
			errs = append(errs, fmt.Errorf("%s: %s", c.pod, verdict))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", c.pod, filepath.Base(c.from), filepath.Base(c.to), verdict)
	}
	const least = 2*turnsAfter + replicas
	if len(j.compared) < least {
		errs = append(errs, fmt.Errorf("%d changes of a disk were compared, and there were at least %d", len(j.compared), least))
	}
	return errors.Join(append(errs, w.Flush())...)
}

// outages measures how long each replica is not Ready, by its own watch.
type outages struct {
	stop context.CancelFunc
	mu   sync.Mutex
	act  string
	// since is when a replica that was Ready became not Ready, by its pod.
	since map[string]time.Time
	ready map[string]bool
	past  []outage
	most  int
}

// outage is the time in which a replica was not Ready.
type outage struct {
	act, pod string
	lasted   time.Duration
}

// watchOutages watches the pods of the application until it is stopped.
func watchOutages(ctx context.Context, client kubernetes.Interface) (*outages, error) {
	ctx, stop := context.WithCancel(ctx)
	o := &outages{stop: stop, since: map[string]time.Time{}, ready: map[string]bool{}}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().Pods().Informer()
	see := func(object any, deleted bool) {
		if pod, is := object.(*corev1.Pod); is && pod.Labels[player.ProgramKey] != "" {
			o.see(pod.Name, !deleted && pod.DeletionTimestamp == nil && fixture.IsReady(pod))
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { see(object, false) },
		UpdateFunc: func(_, object any) { see(object, false) },
		DeleteFunc: func(object any) { see(object, true) },
	})
	if err != nil {
		stop()
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return o, nil
}

// see records whether a replica is Ready.
func (o *outages) see(pod string, ready bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	was := o.ready[pod]
	o.ready[pod] = ready
	switch since, down := o.since[pod]; {
	case was && !ready:
		o.since[pod] = time.Now()
		o.most = max(o.most, len(o.since))
	case ready && down:
		o.past = append(o.past, outage{o.act, pod, time.Since(since)})
		delete(o.since, pod)
	}
}

// begin names the outages from now on.
func (o *outages) begin(act string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.act = act
}

// ended returns how many outages of this name have ended.
func (o *outages) ended() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, each := range o.past {
		if each.act == o.act {
			n++
		}
	}
	return n
}

// print prints each outage.
func (o *outages) print() {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "during\treplica\tseconds")
	for _, each := range o.past {
		fmt.Fprintf(w, "%s\t%s\t%.1f\n", each.act, each.pod, each.lasted.Seconds())
	}
	_ = w.Flush() // it writes to the terminal
}

// wrong returns an error if two replicas were down at once, or one is down.
func (o *outages) wrong() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.most > 1 || len(o.since) > 0 {
		return fmt.Errorf("%d replicas were down at once, and %d are down", o.most, len(o.since))
	}
	return nil
}
