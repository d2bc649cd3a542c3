package suite

import (
	"context"
	"fmt"
	"os"

	"github.com/sliceshift/sliceshift/e2e/built"
	"github.com/sliceshift/sliceshift/e2e/kind"
)

// managerVariable names the manager's image for clusters of the user, which pull it.
const managerVariable = "E2E_MANAGER_IMAGE"

// image is the workload, image2 its next version.
var (
	image, image2 string
	managerImage  = "sliceshift/manager:e2e"
)

// dnsImage is the DNS of clusters that are not the user's.
const dnsImage = "sliceshift/coredns:e2e"

// loadImages builds the workload and the manager, and loads them into every node.
func loadImages(ctx context.Context, p *kind.Pair, dir string) error {
	workload, err := p.Workload(ctx, dir)
	if err != nil {
		return err
	}
	image, image2 = workload, workload+"-2"
	if p.Own() {
		if managerImage = os.Getenv(managerVariable); managerImage == "" {
			return fmt.Errorf("%s must name an image that both clusters can pull: see CONTRIBUTING.md", managerVariable)
		}
		return nil
	}
	if err := kind.BuildManager(ctx, dir, managerImage); err != nil {
		return err
	}
	source, err := built.Module("e2e", "mcs", "coredns")
	if err != nil {
		return err
	}
	if err := kind.BuildImage(ctx, dir, source, dnsImage); err != nil {
		return err
	}
	return p.Load(ctx, managerImage, dnsImage)
}
