package stage

import (
	"context"
	"fmt"
	"maps"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
	"github.com/sliceshift/sliceshift/migration/world"
	"github.com/sliceshift/sliceshift/volumes"
	copymanifest "github.com/sliceshift/sliceshift/volumes/copy/manifest"
	"github.com/sliceshift/sliceshift/volumes/snapshot/manifest"
)

// created returns the object that a write creates.
func (s *Stage) created(ctx context.Context, r rehearsal.Record, w rehearsal.Write) (client.Object, error) {
	to := s.Pair.Destination
	switch w.Kind {
	case rehearsal.KindNamespace:
		return s.executor(r).Created(ctx, to, plan.Effect{Verb: plan.CreateNamespace, Name: w.On.Name})
	case rehearsal.KindControl, rehearsal.KindProof:
		return s.probePod(w), nil
	case rehearsal.KindBinding:
		return s.binding(), nil
	case rehearsal.KindPolicy:
		return policyOf(to.Namespace, s.Allow)
	case rehearsal.KindCopy:
		object, err := s.copyOf(ctx, r, w.Copy)
		if err == nil && w.Copy.Kind != dependencies.ServiceAccount { // those of an account give its pods their identity
			silence(object)
		}
		return object, err
	case rehearsal.KindTaken:
		asked := s.ask.Clones[w.Clone]
		return manifest.Taken(manifest.Mark{}, w.On.Ref, volumes.SnapshotAction{Class: asked.Class, Claim: asked.From.Name}), nil
	case rehearsal.KindContent:
		asked := s.ask.Clones[w.Clone]
		of := volumes.Ref{Namespace: to.Namespace, Name: w.On.Name}
		return manifest.Content(manifest.Mark{}, of, volumes.SnapshotAction{Driver: asked.Driver, Handle: w.Handle}, s.modeOf(asked.Template)), nil
	case rehearsal.KindImport:
		return manifest.Import(manifest.Mark{}, w.On.Ref, volumes.SnapshotAction{Content: w.On.Name}), nil
	case rehearsal.KindClaim:
		return s.claim(ctx, r, w)
	case rehearsal.KindSet:
		return s.statefulSet(ctx, r, w)
	default:
		return nil, &volumes.UnsentError{Reason: fmt.Sprintf("%s is not created", w.Kind)}
	}
}

// claim returns the claim that is filled from an imported snapshot. It has the form of the claim of the move.
func (s *Stage) claim(ctx context.Context, r rehearsal.Record, w rehearsal.Write) (client.Object, error) {
	asked := s.ask.Clones[w.Clone]
	var from corev1.PersistentVolumeClaim
	if err := s.Pair.Source.Live.Get(ctx, s.Pair.Source.Key(asked.From.Name), &from); err != nil {
		return nil, err
	}
	claim := volumes.CopyClaim(&from, asked.To, "", r.ID, world.Forms(s.migration(r))[asked.Template])
	claim.Spec.DataSource = manifest.DataSource(snapshotName("import", r, asked.From))
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(w.Size, resource.BinarySI)}
	return claim, nil
}

// modeOf returns the volume mode of a claim template.
func (s *Stage) modeOf(template string) corev1.PersistentVolumeMode {
	for i := range s.set.Spec.VolumeClaimTemplates {
		if t := &s.set.Spec.VolumeClaimTemplates[i]; t.Name == template && t.Spec.VolumeMode != nil {
			return *t.Spec.VolumeMode
		}
	}
	return corev1.PersistentVolumeFilesystem
}

// statefulSet returns the StatefulSet that the move would create, with all replicas. Its claims stay when it is
// deleted, so that their volumes are deleted in order.
func (s *Stage) statefulSet(ctx context.Context, r rehearsal.Record, w rehearsal.Write) (client.Object, error) {
	at := s.Pair.Destination
	object, err := s.executor(r).Created(ctx, at, plan.Effect{Verb: plan.CreateSet, Name: w.On.Name, After: plan.SetState{Start: s.ask.Start}})
	if err != nil {
		return nil, err
	}
	set, err := endpoint.Convert[slicesapi.StatefulSet](object)
	if err != nil {
		return nil, err
	}
	set.Spec.Replicas, set.Spec.PersistentVolumeClaimRetentionPolicy = new(s.ask.Replicas), nil
	for key := range at.Kind().Fenced() {
		delete(set.Annotations, key)
	}
	pods := &set.Spec.Template
	maps.DeleteFunc(pods.Annotations, func(key, _ string) bool { return strings.HasPrefix(key, dependencies.ExternalNames) })
	// A clone has the priority of the control pod, which the API server has set and a rehearsal judges.
	pods.Spec.PriorityClassName, pods.Spec.Priority, pods.Spec.PreemptionPolicy = "", nil, nil
	whole := at.NewSet(metav1.ObjectMeta{})
	return whole, endpoint.ConvertTo(whole, set)
}

// copyOf returns the copy of an object that the pods need. A Service of any type becomes one of type ClusterIP.
func (s *Stage) copyOf(ctx context.Context, r rehearsal.Record, named rehearsal.Named) (client.Object, error) {
	if named.Kind == dependencies.Service && named.Name == s.set.Spec.ServiceName {
		return s.executor(r).Created(ctx, s.Pair.Destination, plan.Effect{Verb: plan.CreateService, Name: named.Name})
	}
	kind, _ := dependencies.KindOf(named.Kind)
	version, err := s.CommonVersion(kind)
	if err != nil {
		return nil, err
	}
	origin, err := s.Pair.Source.Dependency(ctx, kind, named.Name, version)
	if err != nil {
		return nil, err
	}
	if origin == nil {
		return nil, apierrors.NewNotFound(appsv1.Resource(kind.Resource), named.Name)
	}
	return dependencies.Clean(origin, world.WayOf(s.Pair, dependencies.AccountOf(s.set.Spec.Template.Spec))), nil
}

// silence removes from a copy the annotations on which controllers act outside of its namespace: they publish a Service
// under a name, add it to a load balancer or a mesh, or copy a Secret to other namespaces.
func silence(object client.Object) {
	annotations := object.GetAnnotations()
	maps.DeleteFunc(annotations, func(key, _ string) bool { return key != corev1.ServiceAccountNameKey })
	object.SetAnnotations(annotations)
}

// dnsPort is the port of the cluster's DNS, which resolves the Services of the namespace.
const dnsPort = 53

// policyOf returns the NetworkPolicy that denies all connections, except between pods of the namespace, to the
// cluster's DNS, and to the allowed addresses.
func policyOf(namespace string, allow []rehearsal.Allowed) (client.Object, error) {
	own := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{}}
	dns := networkingv1.NetworkPolicyPeer{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: metav1.NamespaceSystem}},
		PodSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"k8s-app": "kube-dns"}},
	}
	egress := []networkingv1.NetworkPolicyEgressRule{
		{To: []networkingv1.NetworkPolicyPeer{own}},
		{To: []networkingv1.NetworkPolicyPeer{dns}, Ports: portsOf(dnsPort)},
	}
	for _, a := range allow {
		to := networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: a.Prefix.String()}}
		egress = append(egress, networkingv1.NetworkPolicyEgressRule{To: []networkingv1.NetworkPolicyPeer{to}, Ports: portsOf(a.Port)})
	}
	policy := &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: policyName},
		Spec: networkingv1.NetworkPolicySpec{
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{own}}},
			Egress:      egress,
		},
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(policy)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: fields}
	object.SetGroupVersionKind(policyKind)
	return object, nil
}

// portsOf returns a port of TCP and UDP.
func portsOf(port int32) []networkingv1.NetworkPolicyPort {
	var ports []networkingv1.NetworkPolicyPort
	for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP} {
		ports = append(ports, networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: new(intstr.FromInt32(port))})
	}
	return ports
}

// RoleProbe is the role of a pod that tries a NetworkPolicy.
const RoleProbe copymanifest.Role = "probe"

const (
	// probeDeadline is how many seconds a probe may run.
	probeDeadline = 120
	// probeUser is the user that a probe runs as.
	probeUser = 65534
)

// probePod returns a pod that tries to reach addresses. It runs on the nodes of the application, and no Service of the
// namespace selects it.
func (s *Stage) probePod(w rehearsal.Write) client.Object {
	args := []string{"reach"}
	for _, address := range w.Addresses {
		args = append(args, "--address="+address)
	}
	security, place := copymanifest.AsUser(probeUser, probeUser), copymanifest.PlacementOf(s.set.Spec.Template.Spec)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.On.Namespace, Name: w.On.Name, Labels: map[string]string{copymanifest.RoleLabelKey: string(RoleProbe)}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, ActiveDeadlineSeconds: new(int64(probeDeadline)), TerminationGracePeriodSeconds: new(int64(1)),
			AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false), SecurityContext: security.Pod,
			NodeSelector: place.NodeSelector, Tolerations: place.Tolerations, SchedulerName: place.Scheduler, RuntimeClassName: place.RuntimeClass,
			Containers: []corev1.Container{{
				Name: copymanifest.MoverContainer, Image: s.Image, Command: []string{"/mover"}, Args: args, Resources: copymanifest.DefaultResources(),
				SecurityContext: security.Container, TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
			}},
		},
	}
}
