package stage

import (
	"context"
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
	"github.com/sliceshift/sliceshift/migration/world"
)

// Prepare reads the source and returns the obstacles to a rehearsal. It writes nothing.
func (s *Stage) Prepare(ctx context.Context, r rehearsal.Record, ask rehearsal.Ask) ([]plan.Finding, error) {
	from := s.Pair.Source
	var err error
	if s.set, err = from.GetSet(ctx, from.Live); err != nil {
		return nil, err
	}
	if s.set == nil {
		return []plan.Finding{s.finding("SourceMissing", from.Object()+" does not exist", "name an existing StatefulSet: "+from.Kubectl().Do("get", from.Resource(), "-n", from.Namespace))}, nil
	}
	ordinals := world.OrdinalsToMove(s.migration(r), s.set)
	if len(ordinals) == 0 {
		return []plan.Finding{s.finding("NothingToMove", from.Object()+" has no replicas that would move", "scale it up first")}, nil
	}
	ask.Set, ask.Start, ask.Replicas = s.Pair.Destination.Set, slices.Min(ordinals), int32(len(ordinals)) //nolint:gosec // bounded by the replicas of a set
	if s.needs, err = world.ReadNeeds(ctx, from, s.set); err != nil {
		return nil, err
	}
	ask.Copies = s.named()
	if ask.Forbidden, err = s.forbidden(ctx); err != nil {
		return nil, err
	}
	candidate := rehearsal.Candidate{
		Object: from.Object(), Template: s.set.Spec.Template.Spec, ClaimTemplates: world.ClaimTemplates(s.set),
		Word: s.Word, Allow: s.Allow, Forbidden: ask.Forbidden, Image: s.Image,
	}
	pods, err := s.sourcePods(ctx, r)
	if err != nil {
		return nil, err
	}
	candidate.Addresses = append(s.remember(pods), s.services()...)
	findings := rehearsal.Check(candidate)
	lacks, err := s.rights(ctx)
	if err != nil {
		return nil, err
	}
	if lacks != nil {
		findings = append(findings, *lacks)
	}
	clones, found, err := s.planClones(ctx, r, ordinals)
	if err != nil {
		return nil, err
	}
	ask.Clones = clones
	s.ask = ask
	s.prepareGates()
	return append(findings, found...), nil
}

func (s *Stage) finding(reason, message, remedy string) plan.Finding {
	return plan.Finding{Check: "rehearsal", Reason: reason, Object: s.Pair.Source.Object(), Message: message, Remedy: remedy}
}

// copied lists the kinds of objects that pods of a rehearsal get. NetworkPolicies would add to that of the rehearsal.
// Roles are of no use, because the API server is not reached. Claims that all pods share refuse a rehearsal.
var copied = []string{dependencies.Secret, dependencies.ConfigMap, dependencies.ResourceClaimTemplate, dependencies.ServiceAccount, dependencies.Service}

// named returns the objects that are copied: those that the pods need, and the governing Service.
func (s *Stage) named() []rehearsal.Named {
	var all []rehearsal.Named
	for _, ref := range s.needs.References {
		if _, exists := s.needs.Origins[world.Named{Kind: ref.Kind, Name: ref.Name}]; exists && slices.Contains(copied, ref.Kind) {
			all = append(all, rehearsal.Named{Kind: ref.Kind, Name: ref.Name})
		}
	}
	if governing := s.set.Spec.ServiceName; governing != "" {
		all = append(all, rehearsal.Named{Kind: dependencies.Service, Name: governing})
	}
	return all
}

// services returns the addresses of the Services that lead to the source's pods.
func (s *Stage) services() (addresses []string) {
	for named, object := range s.needs.Origins {
		if named.Kind != dependencies.Service {
			continue
		}
		service, err := endpoint.Convert[corev1.Service](object)
		if err != nil {
			continue // the API server has accepted it, so it has the fields of a Service
		}
		addresses = append(addresses, slices.Concat(service.Spec.ClusterIPs, service.Spec.ExternalIPs)...)
		for _, each := range service.Status.LoadBalancer.Ingress {
			addresses = append(addresses, each.IP)
		}
	}
	slices.Sort(addresses)
	return addresses
}

// forbidden returns the addresses that pods must not reach: those that the user names, or the API server as the pods of
// the destination's cluster know it.
func (s *Stage) forbidden(ctx context.Context) ([]string, error) {
	if len(s.Forbid) > 0 {
		return s.Forbid, nil
	}
	server, err := endpoint.Get[corev1.Service](ctx, s.Pair.Destination.Live, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "kubernetes"})
	if err != nil || server == nil || server.Spec.ClusterIP == "" || len(server.Spec.Ports) == 0 {
		if endpoint.LacksRight(err) {
			err = nil // the check asks for an address
		}
		return nil, err
	}
	return []string{net.JoinHostPort(server.Spec.ClusterIP, strconv.Itoa(int(server.Spec.Ports[0].Port)))}, nil
}
