package install

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

// TestUninstallNamesWhatIsKept: the volumes that ordinals have left behind remain, and are listed with the commands that
// remove them. A user that may not list volumes can still uninstall, with a message.
func TestUninstallNamesWhatIsKept(t *testing.T) {
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv", Annotations: map[string]string{api.SealAnnotationKey: "blake3:1"}}}
	volume.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "shop", Name: "data-web-0_parked"}
	refuses := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if _, volumes := list.(*corev1.PersistentVolumeList); volumes {
			return apierrors.NewForbidden(corev1.Resource("persistentvolumes"), "", errors.New("no"))
		}
		return c.List(ctx, list, options...)
	}}
	for name, tc := range map[string]struct {
		at   installation
		want []string
	}{
		"one":         {newInstallation(t, interceptor.Funcs{}, volume), []string{"1 volume in cluster east", "pv of claim shop/data-web-0; to remove the object: kubectl --context east delete pv pv; disk ", "to list them again: migrate kept"}},
		"none":        {newInstallation(t, interceptor.Funcs{}), nil},
		"not allowed": {newInstallation(t, refuses, volume), []string{"cluster east: the volumes that ordinals have left behind are not known: "}},
	} {
		o := &uninstallOptions{Common: command.NewCommon(newConsole().Environment)}
		if err := o.kept(t.Context(), tc.at.target); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		said := tc.at.out.String()
		for _, part := range tc.want {
			if !strings.Contains(said, part) {
				t.Errorf("%s: no %q in:\n%s", name, part, said)
			}
		}
		if tc.want == nil && said != "" {
			t.Errorf("%s: %q", name, said)
		}
	}
}
