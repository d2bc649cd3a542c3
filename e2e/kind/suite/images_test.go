package suite

import (
	"context"
	"fmt"
	"os"

	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/mcs"
)

// Variables that name images for clusters of the user, which pull them; "-2" is added to the
// workload's tag for its second version.
const (
	workloadVariable = "E2E_WORKLOAD_IMAGE"
	managerVariable  = "E2E_MANAGER_IMAGE"
)

// image is the workload, image2 its next version.
var (
	image, image2 = "sliceshift/workload:e2e", "sliceshift/workload:e2e-2"
	managerImage  = "sliceshift/manager:e2e"
)

// dnsImage is the DNS of clusters that are not the user's.
const dnsImage = "sliceshift/coredns:e2e"

// loadImages builds the workload and the manager, and puts them into every node.
func loadImages(ctx context.Context, p *kind.Pair, dir string) error {
	if p.Own() {
		return ownImages()
	}
	if err := kind.BuildWorkload(ctx, dir, image); err != nil {
		return err
	}
	if err := kind.BuildManager(ctx, dir, managerImage); err != nil {
		return err
	}
	source, err := mcs.CoreDNSSource()
	if err != nil {
		return err
	}
	if err := kind.BuildImage(ctx, dir, source, dnsImage); err != nil {
		return err
	}
	return p.Load(ctx, image, image2, managerImage, dnsImage)
}

func ownImages() error {
	image, managerImage = os.Getenv(workloadVariable), os.Getenv(managerVariable)
	if image == "" || managerImage == "" {
		return fmt.Errorf("%s and %s must name images that both clusters can pull: see docs/quickstart.md", workloadVariable, managerVariable)
	}
	image2 = image + "-2"
	return nil
}
