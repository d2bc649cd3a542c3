package stage

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
	"github.com/sliceshift/sliceshift/migration/relay"
	"github.com/sliceshift/sliceshift/migration/world"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
	"github.com/sliceshift/sliceshift/volumes/methods"
)

// copySpec returns the settings of a copy: those of the move, but through this process. The NetworkPolicy of the
// rehearsal keeps senders of the source from its namespace, and forwarded ports pass it.
func (s *Stage) copySpec(template string) api.VolumeSpec {
	spec := s.volumeSpec(template)
	if spec.Method != api.MethodCopy {
		spec.Copy = api.CopySpec{}
	}
	spec.Method, spec.Copy.Transport, spec.Copy.ServiceType, spec.Copy.Address = api.MethodCopy, api.TransportRelay, "", ""
	if spec.Copy.Image == "" {
		spec.Copy.Image = s.Image
	}
	return spec
}

// carry performs one step of a copy.
func (s *Stage) carry(ctx context.Context, r rehearsal.Record, w rehearsal.Write) error {
	asked, m := s.ask.Clones[w.Clone], s.migration(r)
	m.Spec.Volumes = []api.VolumeSpec{s.copySpec(asked.Template)}
	pair, err := s.pair(ctx, r, asked)
	if err != nil {
		return err
	}
	_, err = world.New(m, s.Pair, volumes.Unrestricted()).Do(ctx, plan.Effect{
		Verb: plan.CarryVolume, Template: asked.Template, Ordinal: asked.Ordinal, Volume: *w.Carry,
		Carriage: plan.Carriage{Method: api.MethodCopy, Giver: plan.SourceSide, Pair: pair},
	})
	return err
}

// filledAs is the end of the name that stands for the ordinal's claim in a copy. The claim of the rehearsal is the one
// that is filled, so nothing is taken over under another name, and no claim has this one.
const filledAs = "-rehearsed"

// pair reads the state of a copy.
func (s *Stage) pair(ctx context.Context, r rehearsal.Record, asked rehearsal.ClonePlan) (volumes.Pair, error) {
	from, to, attempt := s.Pair.Source, s.Pair.Destination, r.Copies[asked.To.Name]
	pair := volumes.Pair{
		Separate: true, Fence: r.Fence(), Owner: r.ID, Template: asked.Template,
		Giver: volumes.Holding{Ref: asked.From, Kubectl: from.Kubectl()},
		Taker: volumes.Holding{Ref: volumes.Ref{Namespace: asked.To.Namespace, Name: asked.To.Name + filledAs}, Kubectl: to.Kubectl()},
	}
	c := &volumes.Copying{
		Now: s.Clock.Now(), Attempt: attempt, Early: true, // nothing is stopped
		Asked: volumes.CopyAsked{
			Image: s.copySpec(asked.Template).Copy.Image, Needed: asked.Size, Transport: api.TransportRelay, Warm: api.CopyWarmMount,
			Verify: api.CopyVerifyFull, // no last pass follows, which would remove what a warm pass keeps in the volume
		},
		Incoming: volumes.Holding{Ref: asked.To, Kubectl: to.Kubectl()}, RelayTrouble: s.relays.Trouble(asked.Ordinal, asked.Template),
	}
	pair.Copy = c
	var receiver, warm, own *corev1.Pod
	err := endpoint.Together(
		func() error { return hold(ctx, from, r, &pair.Giver) },
		func() error { return hold(ctx, to, r, &c.Incoming) },
		func() (err error) {
			own, err = endpoint.Get[corev1.Pod](ctx, from.Live, from.Key(nameOf(from.Set, asked.Ordinal)))
			return err
		},
		func() (err error) {
			warm, err = moverOf(ctx, from, copy.PodName(volumes.RoleWarm, pair.Giver.Ref, r.ID, attempt.Number))
			return err
		},
		func() (err error) {
			receiver, err = moverOf(ctx, to, copy.PodName(volumes.RoleReceiver, pair.Taker.Ref, r.ID, attempt.Number))
			return err
		},
		func() (err error) { c.Beside, err = s.beside(ctx, asked); return err },
	)
	if err != nil {
		return pair, err
	}
	c.Pod = podOf(nameOf(from.Set, asked.Ordinal), own)
	c.Receiver, c.Warm = world.MoverOf(to, receiver, r.ID), world.MoverOf(from, warm, r.ID)
	c.Warm.Refuses = world.MountRefused(ctx, from, warm, from.Theirs(c.Now))
	return pair, nil
}

func moverOf(ctx context.Context, at endpoint.Endpoint, name string) (*corev1.Pod, error) {
	return endpoint.Get[corev1.Pod](ctx, at.Live, at.Key(name))
}

// hold reads a claim and its volume.
func hold(ctx context.Context, at endpoint.Endpoint, r rehearsal.Record, h *volumes.Holding) error {
	claim, err := endpoint.Get[corev1.PersistentVolumeClaim](ctx, at.Live, client.ObjectKey{Namespace: h.Ref.Namespace, Name: h.Ref.Name})
	if err != nil || claim == nil {
		return err
	}
	h.Claim = volumes.ViewClaim(claim, r.ID)
	if claim.Spec.VolumeName == "" {
		return nil
	}
	volume, err := endpoint.Get[corev1.PersistentVolume](ctx, at.Live, client.ObjectKey{Name: claim.Spec.VolumeName})
	if volume != nil {
		h.Volume = volumes.ViewVolume(volume, r.ID)
	}
	return err
}

// beside returns the volumes that the pod of an ordinal mounts beside one that is copied: the clones that exist.
func (s *Stage) beside(ctx context.Context, asked rehearsal.ClonePlan) (volumes.Beside, error) {
	var b volumes.Beside
	for _, other := range s.ask.Clones {
		if other.Ordinal != asked.Ordinal || other.Template == asked.Template {
			continue
		}
		claim, err := endpoint.Get[corev1.PersistentVolumeClaim](ctx, s.Pair.Destination.Live, s.Pair.Destination.Key(other.To.Name))
		if err != nil {
			return b, err
		}
		if claim != nil && claim.Spec.VolumeName != "" {
			b.Taken = append(b.Taken, claim.Spec.VolumeName)
		}
	}
	return b, nil
}

// podOf describes a pod of the source, beside which a mover may read.
func podOf(name string, pod *corev1.Pod) volumes.CopyPod {
	if pod == nil {
		return volumes.CopyPod{Name: name}
	}
	return volumes.CopyPod{Name: name, Found: true, Ready: readySince(pod) != nil, Terminating: pod.DeletionTimestamp != nil, Node: pod.Spec.NodeName, Trouble: troubleOf(pod)}
}

// connect lets this process relay between the movers that have met, and between no others.
func (s *Stage) connect(f rehearsal.Facts) {
	var wanted []plan.Relay
	for i, c := range f.Clones {
		asked := s.ask.Clones[i]
		if !asked.Copied || f.Record.End != nil {
			continue
		}
		if sender, receiver, due := copy.Relays(c.Pair); due {
			wanted = append(wanted, plan.Relay{
				Ordinal: asked.Ordinal, Template: asked.Template, Ahead: true,
				Sender: relayEnd(plan.SourceSide, sender), Receiver: relayEnd(plan.DestinationSide, receiver),
			})
		}
	}
	s.relays.Keep(wanted, func(int32) bool { return true })
}

func relayEnd(side plan.SideName, end copy.End) plan.RelayEnd {
	return plan.RelayEnd{Side: side, Namespace: end.Ref.Namespace, Name: end.Ref.Name, UID: end.UID}
}

// dial connects to a mover through the API server of its cluster.
func (s *Stage) dial(end plan.RelayEnd) relay.Dial {
	at := map[plan.SideName]*clusters.Connection{plan.SourceSide: s.Config.Source, plan.DestinationSide: s.Config.Destination}[end.Side]
	return func(ctx context.Context) (relay.Conn, error) {
		return at.RelayPod(ctx, client.ObjectKey{Namespace: end.Namespace, Name: end.Name}, manifest.Port)
	}
}

// planCopy completes the plan of a clone that is copied, or returns why it cannot be.
func (s *Stage) planCopy(clone rehearsal.ClonePlan, claim *corev1.PersistentVolumeClaim) (rehearsal.ClonePlan, *plan.Finding) {
	clone.Copied = true
	if volumes.ViewClaim(claim, "").OncePod {
		finding := s.finding(volumes.ReasonCopyCold, "claim "+clone.From.Name+" has access mode ReadWriteOncePod: no mover can read it while its pod runs",
			"rehearse by snapshots (--method snapshot), or an empty volume: --volume "+clone.Template+"=empty")
		return clone, &finding
	}
	size := methods.Needed(claim)
	clone.Size = size.Value()
	return clone, nil
}
