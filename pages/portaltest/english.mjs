// Lets the portal's modules speak English in Node, where nothing loads a catalogue by itself.

import { readFileSync } from 'node:fs';
import { use } from '../portal/catalogue.js';

/** The portal's English catalogue, as it is in the file. */
export const english = JSON.parse(readFileSync(new URL('../portal/en.json', import.meta.url), 'utf8'));

use(english);
