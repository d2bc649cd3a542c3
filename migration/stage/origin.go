package stage

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
	"github.com/sliceshift/sliceshift/migration/world"
)

// seen is a pod of the source before the rehearsal.
type seen struct {
	uid      types.UID
	restarts int32
	ready    bool
}

// sourcePods reads the pods of the source's StatefulSet, by name.
func (s *Stage) sourcePods(ctx context.Context, r rehearsal.Record) (map[string]*corev1.Pod, error) {
	at, whole := s.Pair.Source, world.SetOf(s.migration(r), s.set, nil)
	pods, err := endpoint.GetAll[corev1.Pod](ctx, at.Live, at.Namespace, namesOf(at.Set, whole.Start, whole.Replicas))
	if err != nil {
		return nil, fmt.Errorf("reading the pods of %s: %w", at.Object(), err)
	}
	return pods, nil
}

// remember keeps the state of the source's pods before the rehearsal, and returns their addresses.
func (s *Stage) remember(pods map[string]*corev1.Pod) (addresses []string) {
	s.before = map[string]seen{}
	for name, pod := range pods {
		s.before[name] = seen{pod.UID, restartsOf(pod), readySince(pod) != nil}
		for _, ip := range pod.Status.PodIPs {
			addresses = append(addresses, ip.IP)
		}
	}
	return addresses
}

// origin returns the disturbances of the source's pods since then. A pod that was not Ready before is not judged.
func (s *Stage) origin(ctx context.Context, r rehearsal.Record) (rehearsal.Origin, error) {
	o := rehearsal.Origin{Pods: len(s.before)}
	pods, err := s.sourcePods(ctx, r)
	if err != nil {
		return o, err
	}
	for name, before := range s.before {
		pod := pods[name]
		switch {
		case pod == nil:
			o.Disturbed = append(o.Disturbed, "pod "+name+" was deleted")
		case pod.UID != before.uid:
			o.Disturbed = append(o.Disturbed, "pod "+name+" was replaced")
		case restartsOf(pod) > before.restarts:
			o.Disturbed = append(o.Disturbed, "a container of pod "+name+" was restarted")
		case before.ready && (readySince(pod) == nil || s.Pair.Source.Ours(*readySince(pod)).After(r.Began.Time)):
			o.Disturbed = append(o.Disturbed, "pod "+name+" was not Ready for a time")
		}
	}
	slices.Sort(o.Disturbed)
	return o, nil
}

func restartsOf(pod *corev1.Pod) (restarts int32) {
	for _, c := range pod.Status.ContainerStatuses {
		restarts += c.RestartCount
	}
	return restarts
}
