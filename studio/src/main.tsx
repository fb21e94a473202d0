// SPDX-License-Identifier: Apache-2.0
import { createRoot } from "react-dom/client";
import { App } from "./app/app.tsx";
import "./style/studio.css";

const page = document.getElementById("page");
if (page) createRoot(page).render(<App />);
