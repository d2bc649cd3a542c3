// Package docs holds the documentation. Its tests keep it consistent with the code.
package docs

import "embed"

// Reasons holds a page for each reason, at reasons/REASON.md.
//
//go:embed reasons/*.md
var Reasons embed.FS
