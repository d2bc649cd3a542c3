package clusters

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Judged refuses to change or delete an object without its UID and resourceVersion. An API server treats an empty
// precondition as absent, and changes any object of that name. A server that answers with empty values could then direct a
// write at an object of another cluster. Creations and dry runs pass.
func Judged(c client.Client) client.Client { return judged{c} }

type judged struct{ client.Client }

// Patch implements client.Writer.
func (j judged) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
	var options client.PatchOptions
	options.ApplyOptions(opts)
	if len(options.DryRun) == 0 {
		uid, version, err := preconditionsOf(object, patch)
		if err != nil {
			return err
		}
		if uid == "" || version == "" {
			return unjudged("patched", object)
		}
	}
	return j.Client.Patch(ctx, object, patch, opts...)
}

// preconditionsOf returns the preconditions in a merge patch. Other patch types return none.
func preconditionsOf(object client.Object, patch client.Patch) (uid, version string, err error) {
	if patch.Type() != types.MergePatchType {
		return "", "", nil
	}
	data, err := patch.Data(object)
	if err != nil {
		return "", "", err
	}
	var written struct {
		Metadata struct{ UID, ResourceVersion string }
	}
	if err := json.Unmarshal(data, &written); err != nil {
		return "", "", fmt.Errorf("reading the patch: %w", err)
	}
	return written.Metadata.UID, written.Metadata.ResourceVersion, nil
}

// Update implements client.Writer.
func (j judged) Update(ctx context.Context, object client.Object, opts ...client.UpdateOption) error {
	var options client.UpdateOptions
	options.ApplyOptions(opts)
	if len(options.DryRun) == 0 && (object.GetUID() == "" || object.GetResourceVersion() == "") {
		return unjudged("updated", object)
	}
	return j.Client.Update(ctx, object, opts...)
}

// Delete implements client.Writer.
func (j judged) Delete(ctx context.Context, object client.Object, opts ...client.DeleteOption) error {
	var options client.DeleteOptions
	options.ApplyOptions(opts)
	asked := options.Preconditions
	if asked == nil || asked.UID == nil || *asked.UID == "" || asked.ResourceVersion == nil || *asked.ResourceVersion == "" {
		return unjudged("deleted", object)
	}
	return j.Client.Delete(ctx, object, opts...)
}

// DeleteAllOf implements client.Writer.
func (j judged) DeleteAllOf(_ context.Context, object client.Object, _ ...client.DeleteAllOfOption) error {
	return unjudged("deleted", object)
}

func unjudged(how string, object client.Object) error {
	return fmt.Errorf("%T %s is not %s: its API server answered without its UID or its resourceVersion, so nothing would keep another object of the name from being %s; "+
		"check whether the address in the kubeconfig leads to an API server of Kubernetes", object, client.ObjectKeyFromObject(object), how, how)
}
