package stage

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
	"github.com/sliceshift/sliceshift/volumes"
)

const (
	// StageRole is the ClusterRole that a rehearsal binds in its namespace.
	StageRole = "sliceshift-rehearser-stage"
	// MayBind is the ClusterRole that allows that.
	MayBind = "sliceshift-rehearser-destination"
	// bindingName is the name of that RoleBinding.
	bindingName = "rehearsal"
)

// admission reads whether this process may act in the namespace. Once it may, it is not asked again. A namespace that is
// being deleted loses its RoleBinding at any moment, and with it everything that would have to be read.
func (s *Stage) admission(ctx context.Context, namespace rehearsal.Object) (a rehearsal.Admission, err error) {
	at := s.Pair.Destination
	if !namespace.Found || namespace.Terminating {
		return a, nil
	}
	if s.user == "" { // a process that only deletes has not read it
		if s.user, err = at.Identity(ctx); err != nil {
			return a, err
		}
	}
	if !s.admitted {
		if s.admitted, err = s.mayAct(ctx); err != nil {
			return a, err
		}
	}
	a.Allowed, a.User, a.Role = s.admitted, s.user, StageRole
	a.Binding = rehearsal.Object{Ref: volumes.Ref{Namespace: at.Namespace, Name: bindingName}, Found: !s.boundAt.IsZero(), Created: s.boundAt}
	return a, nil
}

// mayAct reports whether this process may start pods in the namespace, and delete it.
func (s *Stage) mayAct(ctx context.Context) (bool, error) {
	namespace := s.Pair.Destination.Namespace
	return s.may(ctx,
		authorizationv1.ResourceAttributes{Verb: "create", Resource: "pods", Namespace: namespace},
		authorizationv1.ResourceAttributes{Verb: "delete", Resource: "namespaces", Namespace: namespace, Name: namespace})
}

// mayBind reports whether this process may give itself these rights.
func (s *Stage) mayBind(ctx context.Context) (bool, error) {
	namespace := s.Pair.Destination.Namespace
	return s.may(ctx,
		authorizationv1.ResourceAttributes{Verb: "create", Group: rbacv1.GroupName, Resource: "rolebindings", Namespace: namespace},
		authorizationv1.ResourceAttributes{Verb: "bind", Group: rbacv1.GroupName, Resource: "clusterroles", Namespace: namespace, Name: StageRole})
}

// may reports whether this process has all of these rights in the destination's cluster.
func (s *Stage) may(ctx context.Context, all ...authorizationv1.ResourceAttributes) (bool, error) {
	for _, each := range all {
		if allowed, err := s.Pair.Destination.May(ctx, each); err != nil || !allowed {
			return false, err
		}
	}
	return true, nil
}

// rights returns why this process could not act in its namespace, before it is created; nil if it could.
func (s *Stage) rights(ctx context.Context) (*plan.Finding, error) {
	at := s.Pair.Destination
	var err error
	if s.user, err = at.Identity(ctx); err != nil {
		return nil, fmt.Errorf("cluster %s: reading the name of this user: %w", at.Cluster, err)
	}
	for _, enough := range []func(context.Context) (bool, error){s.mayAct, s.mayBind} {
		if allowed, err := enough(ctx); err != nil || allowed {
			return nil, err
		}
	}
	user := s.user
	if user == "" {
		user = "USER"
	}
	finding := s.finding(rehearsal.ReasonNotAdmitted,
		fmt.Sprintf("user %s may neither start pods in any namespace of cluster %s and delete it, nor bind ClusterRole %s in one", user, at.Cluster, StageRole),
		"bind the role that allows it: "+at.Kubectl().Do("create", "clusterrolebinding", MayBind, "--clusterrole="+MayBind, "--user="+user))
	return &finding, nil
}

// binding returns the RoleBinding that gives this process its rights in the namespace.
func (s *Stage) binding() client.Object {
	object := &unstructured.Unstructured{Object: map[string]any{
		"roleRef":  map[string]any{"apiGroup": rbacv1.GroupName, "kind": "ClusterRole", "name": StageRole},
		"subjects": []any{map[string]any{"apiGroup": rbacv1.GroupName, "kind": rbacv1.UserKind, "name": s.user}},
	}}
	object.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("RoleBinding"))
	object.SetNamespace(s.Pair.Destination.Namespace)
	object.SetName(bindingName)
	return object
}
