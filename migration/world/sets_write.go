package world

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/volumes"
)

// copiedSet returns the destination's StatefulSet: a copy of the source's current state without replicas, of the
// destination's kind.
func (e *Executor) copiedSet(ctx context.Context, meta func(metav1.ObjectMeta) metav1.ObjectMeta, start int32, forms map[string]volumes.Form) (client.Object, error) {
	from := e.Source.NewSet(metav1.ObjectMeta{})
	if err := e.Source.Live.Get(ctx, e.Source.Key(e.Source.Set), from); err != nil {
		return nil, err
	}
	to, err := endpoint.Convert[slicesapi.StatefulSet](from)
	if err != nil {
		return nil, err
	}
	named, err := e.OwnNamed(ctx, to.Spec.Template.Spec)
	if err != nil {
		return nil, err
	}
	if named != "" {
		why := fmt.Errorf("its template names %s, which the migration itself uses there", named) //nolint:err113 // for people
		return nil, &OwnCredentialsError{apierrors.NewForbidden(appsv1.Resource("statefulsets"), e.Destination.Set, why)}
	}
	none := int32(0)
	to.TypeMeta, to.Status, to.ObjectMeta = metav1.TypeMeta{}, slicesapi.StatefulSetStatus{}, meta(to.ObjectMeta)
	to.Spec.Replicas, to.Spec.Ordinals = &none, &slicesapi.Ordinals{Start: start}
	to.Annotations[api.TemplateAnnotationKey] = TemplateHash(&to.Spec.Template)
	MapTemplates(to.Spec.VolumeClaimTemplates, forms)
	made := e.Destination.NewSet(metav1.ObjectMeta{})
	return made, endpoint.ConvertTo(made, to)
}

// OwnCredentialsError is why a template is not copied that references the migration's own credentials.
type OwnCredentialsError struct{ *apierrors.StatusError }

// OwnNamed returns a reference of a source's template to an object that the migration itself uses in the
// destination's namespace; empty if there is none. The source's API server chooses the template. Within one namespace
// of one cluster its pods already run there.
func (e *Executor) OwnNamed(ctx context.Context, template corev1.PodSpec) (string, error) {
	if e.SameNamespace() {
		return "", nil
	}
	user, err := e.Destination.Identity(ctx)
	own := dependencies.Own{Account: dependencies.AccountIn(user, e.Destination.Namespace), Secrets: e.OwnSecrets}
	return own.Named(template), err
}
